"""How far must things move to be told apart, and how far may one thing bend and still be found whole?

Writes tabletops.csv and tabletops.png.
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
from eval.common.tables import write_csv
from eval.matching.synthetic import tabletops


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--kinds", nargs="+", choices=tabletops.AMOUNTS, default=list(tabletops.AMOUNTS), metavar="KIND",
        help=f"some of {', '.join(tabletops.AMOUNTS)} (default: all)",
    )  # fmt: skip
    add_photograph_options(parser)
    parser.add_argument("--pairs", type=int, default=4, help="pairs of pictures for each amount (default: 4)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first pair (default: 0)")
    parser.add_argument(
        "--out", type=Path, default=Path("tabletops"), help="folder of the results (default: tabletops)"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    args = parser.parse_args(argv)
    return exit_status(lambda: evaluate(args))


def evaluate(args: argparse.Namespace) -> None:
    check_least(args, pairs=1, seed=0)
    check_folder(args.out)
    photographs = choose_photographs(args)
    planned = [
        (kind, amount, seed)
        for kind in args.kinds
        for amount in tabletops.AMOUNTS[kind]
        for seed in range(args.seed, args.seed + args.pairs)
    ]
    rows = [tabletops.measure(photographs, *one) for one in tqdm(planned, desc="pairs", disable=args.quiet)]
    write_csv(args.out / "tabletops.csv", tabletops.COLUMNS, rows)
    tabletops.draw(rows, args.out / "tabletops.png")
    print(tabletops.summary(rows))


if __name__ == "__main__":
    sys.exit(main())
