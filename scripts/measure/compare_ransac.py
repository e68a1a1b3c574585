"""Compare the matcher with SIFT, ratio test and sequential MAGSAC, on composite pairs with exact truth."""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
import sys

from tqdm import tqdm

from eval.common.options import add_photograph_options, check_least, choose_photographs, exit_status
from eval.matching.photographs.sift_baseline import compare, format_table, methods


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    add_photograph_options(parser)
    parser.add_argument(
        "--pairs", type=int, default=8, help="composite pairs for each number of copies (default: 8)"
    )
    parser.add_argument("--first-seed", type=int, default=200, help="seed of the first pair (default: 200)")
    parser.add_argument(
        "--copies",
        type=int,
        nargs="+",
        default=[1, 2],
        help="numbers of copies of each object (default: 1 2)",
    )
    args = parser.parse_args(argv)
    return exit_status(lambda: measure(args))


def measure(args: argparse.Namespace) -> None:
    check_least(args, pairs=1, first_seed=0, copies=1)
    photographs = choose_photographs(args)
    seeds = range(args.first_seed, args.first_seed + args.pairs)
    steps = (row for copies in args.copies for row in compare(photographs, seeds, copies))
    print(format_table(list(tqdm(steps, total=len(seeds) * len(methods()) * len(args.copies)))))


if __name__ == "__main__":
    sys.exit(main())
