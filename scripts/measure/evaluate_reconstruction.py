"""What does COLMAP reconstruct of rooms in which two boxes move between pictures, before and after `group`?

Writes reconstruction.csv and reconstruction.md: registered pictures, cameras at their true places, and
points, for COLMAP's own database, for the database with grouped matches, and for the one with all objects.
"""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
import sys
from pathlib import Path

from tqdm import tqdm

from eval.common.options import (
    add_photograph_options,
    check_folder,
    check_least,
    choose_photographs,
    exit_status,
)
from eval.common.tables import format_markdown, write_csv, write_text
from eval.matching import reconstruction


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_photograph_options(parser)
    parser.add_argument("--scenes", type=int, default=4, help="rooms (default: 4)")
    parser.add_argument("--boxes", type=int, default=2, help="boxes in each room (default: 2)")
    parser.add_argument("--out", type=Path, default=Path("reconstruction"), help="folder for the results")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    args = parser.parse_args(argv)
    return exit_status(lambda: evaluate(args))


def evaluate(args: argparse.Namespace) -> None:
    check_least(args, scenes=1, boxes=0)
    check_folder(args.out)
    photographs = choose_photographs(args)
    steps = tqdm(range(args.scenes), desc="rooms", disable=args.quiet)
    rows = [row for seed in steps for row in reconstruction.measure_scene(photographs, seed, args.boxes)]
    write_csv(args.out / "reconstruction.csv", reconstruction.COLUMNS, rows)
    text = format_markdown(*reconstruction.format_scenes(rows)) + "\n"
    write_text(args.out / "reconstruction.md", text)
    print(text, end="")


if __name__ == "__main__":
    sys.exit(main())
