"""Are copies on synthetic shelves counted correctly? Three of eight fronts have one to forty copies each.

Each shelf also has siblings: other fronts that carry the upper part of one of the three, its logo. Copies
differ in light and size, and are turned a little; a price tag hides a part of some. The copies of each front
are counted.

python scripts/measure/evaluate_counts.py --models $GDL_DATA/models
"""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
import sys
from pathlib import Path

import numpy as np

from eval.common.options import exit_status
from matching import match
from matching.objects.copies import count_copies
from synth.pages import crop_front, draw_stock
from synth.photographs import read_folder

FRONTS = 8


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", type=Path, required=True, help="folder of eight or more fronts")
    parser.add_argument(
        "--seeds", type=int, nargs="+", default=[0, 1, 2], help="seeds of the shelves (default: 0 1 2)"
    )
    return exit_status(lambda: evaluate(parser.parse_args(argv)))


def evaluate(args: argparse.Namespace) -> None:
    models = read_folder(args.models)
    if len(models) < FRONTS:
        raise ValueError(f"{args.models} must hold {FRONTS} pictures, found {len(models)}")
    right = total = over = under = 0
    for seed in args.seeds:
        rng = np.random.default_rng(seed)
        fronts = [crop_front(models[k]) for k in rng.permutation(len(models))[:FRONTS]]
        picture, truth = draw_stock(fronts, rng)
        asked = [*fronts[:3], *fronts[6:]]
        for k, (front, n) in enumerate(zip(asked, truth, strict=True)):
            counted = len(count_copies(match(front, picture).objects).copies)
            print(f"seed {seed}, front {k}: {counted} counted, {n} present", flush=True)
            total, right, over, under = (
                total + 1,
                right + (counted == n),
                over + (counted > n),
                under + (counted < n),
            )
    print(f"{right} of {total} counts right, {under} under and {over} over")


if __name__ == "__main__":
    sys.exit(main())
