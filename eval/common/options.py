"""What the experiments share: options and their checks, peak memory."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import resource

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


def add_photograph_options(parser: argparse.ArgumentParser) -> None:
    """--models and --tiles, which `choose_photographs` reads."""
    parser.add_argument(
        "--models",
        type=Path,
        metavar="DIR",
        help="pictures of objects (default: photographs that scikit-image and scikit-learn ship)",
    )
    parser.add_argument("--tiles", type=Path, metavar="DIR", help="other photographs")


def choose_photographs(args: argparse.Namespace) -> Photographs:
    """The photographs of the two folders, or the shipped ones. Raises ValueError if only one folder is
    given.
    """
    from synth.photographs import read_folders, read_shipped  # slow, and not every script needs it

    if bool(args.models) != bool(args.tiles):
        raise ValueError("--models and --tiles must be given together, got only one of them")
    return read_folders(args.models, args.tiles) if args.models else read_shipped()


def check_least(args: argparse.Namespace, **least: float) -> None:
    """Raise ValueError if an option, or one of its values, is below its minimum; None passes.

    >>> check_least(argparse.Namespace(first_seed=-1), first_seed=0)
    Traceback (most recent call last):
    ValueError: --first-seed must be at least 0, got -1
    """
    for name, bound in least.items():
        given = getattr(args, name)
        for value in given if isinstance(given, list) else [given]:
            if value is not None and not value >= bound:
                raise ValueError(f"--{name.replace('_', '-')} must be at least {bound:g}, got {value}")


def check_between(args: argparse.Namespace, **bounds: tuple[int, int]) -> None:
    """Raise ValueError for an option outside its bounds; the bounds themselves are allowed.

    >>> check_between(argparse.Namespace(copies=10), copies=(1, 9))
    Traceback (most recent call last):
    ValueError: --copies must be in [1, 9], got 10
    """
    for name, (low, high) in bounds.items():
        value = getattr(args, name)
        if not low <= value <= high:
            raise ValueError(f"--{name.replace('_', '-')} must be in [{low}, {high}], got {value}")


def check_jobs(args: argparse.Namespace) -> None:
    """Raise ValueError for --jobs 0. joblib takes 1, 2, ..., or -1 for all cores, -2 for all but one, ..."""
    if args.jobs == 0:
        raise ValueError("--jobs must not be 0, got 0: give a number of processes, or -1 for all cores")


def check_folder(path: Path) -> None:
    """Raise ValueError, before hours of work, if the folder for the results is a file."""
    if path.exists() and not path.is_dir():
        raise ValueError(f"{path} must be a folder, but it is a file")


def peak_megabytes(usage: resource.struct_rusage) -> float:
    """Peak memory of a process, from the usage that `os.wait4` or `resource` reports."""
    return usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)  # bytes on macOS, else kilobytes


def exit_status(work: Callable[[], int | None], stopped: str = "stopped") -> int:
    """The exit status of a script: what its work returns, or 0; 2 after one line on bad input; 130 after one
    line if the user stops it; 3 after the traceback of any other error.
    """
    name = Path(sys.argv[0]).name
    try:
        return work() or 0
    except (ValueError, OSError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{name}: {stopped}", file=sys.stderr)
        return 130
    except Exception:
        traceback.print_exc()
        return 3
