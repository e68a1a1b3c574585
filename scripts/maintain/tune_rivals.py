"""Tune the parameters of the rivals, alone and with the stages around them, with the same effort for all."""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
import sys

from eval.common.options import (
    add_photograph_options,
    check_jobs,
    check_least,
    choose_photographs,
    exit_status,
)
from eval.matching.baselines.registry import METHODS
from eval.matching.synthetic.methods import WITH_STAGES
from eval.matching.synthetic.tuning import tune, tuning_trials


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    add_photograph_options(parser)
    parser.add_argument(
        "--draws", type=int, default=24, help="random settings of each method, and then as many near the best"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes (default 2)")
    names = [*METHODS, *WITH_STAGES]
    parser.add_argument(
        "--methods",
        nargs="+",
        choices=names,
        default=names,
        metavar="NAME",
        help=f"some of {', '.join(names)} (default: all)",
    )
    args = parser.parse_args(argv)
    return exit_status(lambda: measure(args))


def measure(args: argparse.Namespace) -> None:
    check_least(args, draws=1)
    check_jobs(args)
    trials = tuning_trials(choose_photographs(args))
    for method in args.methods:
        tuned = tune(method, trials, args.draws, args.jobs)
        print(
            f"{method}: mean F {tuned.f:.4f} (in the code: {tuned.f_before:.4f}) {tuned.params}", flush=True
        )


if __name__ == "__main__":
    sys.exit(main())
