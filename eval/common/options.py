"""What the experiments share: options and their checks."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from synth.photographs import Photographs


def at_least(least: float, kind: type = int) -> Callable[[str], float]:
    """The type of an option: a number that is not below a minimum.

    >>> at_least(1)("0")
    Traceback (most recent call last):
    argparse.ArgumentTypeError: must be at least 1, got 0
    """

    def convert(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be a number, got {text}") from None
        if not value >= least:
            raise argparse.ArgumentTypeError(f"must be at least {least:g}, got {text}")
        return value

    return convert


def convert_jobs(text: str) -> int:
    """A number of processes as joblib takes it: 1, 2, ..., or -1 for all cores, -2 for all but one, ..."""
    if not text.lstrip("-").isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"must be a number of processes, or -1 for all cores, got {text}")
    return int(text)


def convert_folder(text: str) -> Path:
    """A folder for results, which must not be a file: that is refused before hours of work."""
    path = Path(text)
    if path.exists() and not path.is_dir():
        raise argparse.ArgumentTypeError(f"{path} must be a folder, but it is a file")
    return path


SHARED: dict[str, dict[str, Any]] = {
    "data": {"type": Path, "metavar": "DIR", "help": "folder of the data sets (default: $GDL_DATA)"},
    "out": {"type": convert_folder, "metavar": "DIR", "help": "folder of the results (default: %(default)s)"},
    "models": {
        "type": Path,
        "metavar": "DIR",
        "help": "pictures of objects (default: photographs that scikit-image and scikit-learn ship)",
    },
    "tiles": {"type": Path, "metavar": "DIR", "help": "other photographs"},
    "pairs": {"type": at_least(1), "help": "pairs of each kind (default: %(default)s)"},
    "trials": {"type": at_least(1), "help": "trials of each kind (default: %(default)s)"},
    "seed": {"type": at_least(0), "default": 0, "help": "seed of the first (default: %(default)s)"},
    "seeds": {
        "type": at_least(0),
        "nargs": "+",
        "default": [0, 1, 2],
        "help": "seeds of what is drawn (default: 0 1 2)",
    },
    "jobs": {"type": convert_jobs, "default": -1, "help": "processes (default: %(default)s; -1: all cores)"},
    "quiet": {"action": "store_true", "help": "no progress bar"},
}


def add_options(parser: argparse.ArgumentParser, *names: str, **changed: Any) -> None:
    """Add options that several experiments have: those named, and those with another default, or, by a
    mapping, with other properties.
    """
    data = os.environ.get("GDL_DATA")
    for name in (*names, *changed):
        own = SHARED[name] | ({"default": data, "required": not data} if name == "data" else {})
        given = changed.get(name, {})
        parser.add_argument(f"--{name}", **own | (given if isinstance(given, dict) else {"default": given}))


def choose_photographs(args: argparse.Namespace) -> Photographs:
    """The photographs of the two folders, or the shipped ones. Raises ValueError if only one folder is
    given.
    """
    from synth.photographs import read_folders, read_shipped  # slow, and not every script needs it

    if bool(args.models) != bool(args.tiles):
        raise ValueError("--models and --tiles must be given together, got only one of them")
    return read_folders(args.models, args.tiles) if args.models else read_shipped()
