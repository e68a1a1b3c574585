"""What the scripts of the experiments share: the options for photographs, and how bad input ends."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from synth.photographs import Photographs, from_folders, shipped


def add_photograph_options(parser: argparse.ArgumentParser) -> None:
    """--models and --tiles, which `chosen_photographs` reads."""
    parser.add_argument(
        "--models",
        type=Path,
        metavar="DIR",
        help="pictures of objects (default: photographs that scikit-image and scikit-learn ship)",
    )
    parser.add_argument("--tiles", type=Path, metavar="DIR", help="other photographs")


def chosen_photographs(args: argparse.Namespace) -> Photographs:
    """The photographs of the two folders, or the shipped ones. Raises ValueError for one folder alone."""
    if bool(args.models) != bool(args.tiles):
        raise ValueError("--models and --tiles go together, got one of them")
    return from_folders(args.models, args.tiles) if args.models else shipped()


def exit_status(work: Callable[[], None], stopped: str = "stopped") -> int:
    """0 after the work of a script is done; 2 after one line on bad input, 130 after one where the user stops
    it.
    """
    name = Path(sys.argv[0]).name
    try:
        work()
    except (ValueError, OSError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{name}: {stopped}", file=sys.stderr)
        return 130
    return 0
