"""The paper's own example (Fig. 5: sigma_n = 50 px, M = 3; F = 0.981), by --paper and by the default."""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
import sys
import warnings
from pathlib import Path

from tqdm import tqdm

from eval.common.options import (
    add_photograph_options,
    check_folder,
    check_least,
    choose_photographs,
    exit_status,
)
from eval.common.tables import write_csv
from eval.matching.synthetic.paper_example import COLUMNS, OUTLIERS, format_table, measure, methods


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    add_photograph_options(parser)
    parser.add_argument("--out", type=Path, metavar="DIR", help="also write paper_example.csv there")
    parser.add_argument("--pairs", type=int, default=10, help="composite pairs (default: 10)")
    parser.add_argument("--first-seed", type=int, default=0, help="seed of the first pair (default: 0)")
    parser.add_argument("--side", type=int, default=320, help="side of a tile, pixels (default: 320)")
    parser.add_argument(
        "--outliers", type=int, default=OUTLIERS, help=f"false candidates (default: {OUTLIERS})"
    )
    parser.add_argument(
        "--all", action="store_true", help="use the best 3,000 candidates, however many of them are false"
    )
    args = parser.parse_args(argv)
    return exit_status(lambda: run(args))


def run(args: argparse.Namespace) -> None:
    check_least(args, pairs=1, first_seed=0, side=32, outliers=0)
    if args.out:
        check_folder(args.out)
    photographs = choose_photographs(args)
    seeds = range(args.first_seed, args.first_seed + args.pairs)
    steps = measure(photographs, seeds, args.side, None if args.all else args.outliers)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a smaller K0, which --paper takes where it must
        rows = list(tqdm(steps, total=len(seeds) * len(methods())))
    if args.out:
        write_csv(args.out / "paper_example.csv", COLUMNS, rows)
    print(format_table(rows))


if __name__ == "__main__":
    sys.exit(main())
