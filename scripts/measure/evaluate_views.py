"""Pairs of extreme views that plain matching, simulated views and OpenCV's ASIFT solve, and their CPU times.

--data is a folder that holds evd_*/ (img1, img2, H1to2.txt) and graf/ (img1, img2, ..., H1to2p.txt, ...);
--tiles is a folder of pictures that are foreshortened by factors of 1 to 8.
"""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
import sys
from itertools import chain
from pathlib import Path

from tqdm import tqdm

from eval.common.options import check_least, exit_status
from eval.common.tables import write_csv
from eval.matching.photographs.extreme_views import (
    format_table,
    make_tilted,
    measure,
    oxford,
    read_photographed,
)

COLUMNS = ("data", "pair", "method", "solved", "matches", "seconds")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder with evd_* and graf")
    parser.add_argument(
        "--tiles", type=Path, required=True, metavar="DIR", help="folder of pictures to be foreshortened"
    )
    parser.add_argument("--pictures", type=int, default=10, help="number of these pictures (default: 10)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for views.csv")
    options = parser.parse_args(argv)
    return exit_status(lambda: run(options))


def run(options: argparse.Namespace) -> None:
    check_least(options, pictures=1)
    pairs = chain(
        read_photographed(options.data),
        oxford(options.data / "graf"),
        make_tilted(options.tiles, options.pictures),
    )
    rows = []
    for row in tqdm(measure(pairs), desc="pairs and methods"):
        rows.append(row)
        if options.out:  # after each pair and method, because all take long
            write_csv(options.out / "views.csv", COLUMNS, rows)
    print(format_table(rows))


if __name__ == "__main__":
    sys.exit(main())
