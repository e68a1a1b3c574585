"""What each step of the matching is worth: the same composite pairs with one step changed at a time."""

from eval import uncaught  # noqa: F401

# isort: split
import argparse
import sys

from tqdm import tqdm

from eval.ablation import ablate, table, variants
from eval.running import add_photograph_options, check_least, chosen_photographs, exit_status


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    add_photograph_options(parser)
    parser.add_argument("--pairs", type=int, default=16, help="composite pairs (default: 16)")
    parser.add_argument("--first-seed", type=int, default=100)
    parser.add_argument(
        "--copies", type=int, default=1, help="times that each object stands in the second picture"
    )
    parser.add_argument(
        "--sigma", type=float, metavar="PX", help="deformation sigma_n of all pairs (default: 0 to 15)"
    )
    args = parser.parse_args(argv)
    return exit_status(lambda: measure(args))


def measure(args: argparse.Namespace) -> None:
    check_least(args, pairs=1, first_seed=0, copies=1, sigma=0)
    photographs = chosen_photographs(args)
    seeds = range(args.first_seed, args.first_seed + args.pairs)
    steps = ablate(photographs, seeds, args.copies, args.sigma)
    print(table(list(tqdm(steps, total=len(seeds) * len(variants())))))


if __name__ == "__main__":
    sys.exit(main())
