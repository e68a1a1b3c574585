"""Tune the parameters of the rivals, all with the same effort."""

import argparse
import sys

from eval.rivals import METHODS
from eval.tuning import tune, tuning_trials
from synth.photographs import from_folders, shipped


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", help="folder of object images (default: shipped photographs)")
    parser.add_argument("--tiles", help="folder of other images")
    parser.add_argument(
        "--draws", type=int, default=24, help="random settings a method, and as many near the best"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes (default 2)")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    args = parser.parse_args(argv)
    if bool(args.models) != bool(args.tiles):
        parser.error("--models and --tiles go together")
    trials = tuning_trials(from_folders(args.models, args.tiles) if args.models else shipped())
    for method in args.methods:
        tuned = tune(method, trials, args.draws, args.jobs)
        print(
            f"{method}: mean F {tuned.f:.4f} (in the code: {tuned.f_before:.4f}) {tuned.params}", flush=True
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
