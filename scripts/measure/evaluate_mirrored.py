"""Mirrored objects: how many are found, compared with the same objects not mirrored; and false alarms.

The pairs are composites of 3 x 3 photographs with M objects in common (plain, bent and in hard poses), and
composites that have nothing in common. Prints a table.
"""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
import sys
from pathlib import Path

import numpy as np
from tqdm import tqdm

from eval.common.options import check_least, exit_status
from eval.common.tables import format_markdown
from matching import MatchConfig, match
from synth.composite import composite_pair, true_instance
from synth.photographs import read_folders, read_shipped

SETTINGS = ((3, 0.0, False), (3, 10.0, False), (2, 0.0, True))  # M, sigma, hard poses
LEAST, TRUE = 8, 0.6  # fewest matches of a cluster that finds an instance, and least share of true ones


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", type=Path, metavar="DIR", help="pictures of objects; needs --tiles")
    parser.add_argument("--tiles", type=Path, metavar="DIR", help="other photographs")
    parser.add_argument("--trials", type=int, default=3, help="composites for each setting (default: 3)")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    args = parser.parse_args(argv)
    return exit_status(lambda: evaluate(args))


def evaluate(args: argparse.Namespace) -> None:
    check_least(args, trials=1)
    photographs = read_folders(args.models, args.tiles) if args.models else read_shipped()
    runs = {
        "as they are": (False, MatchConfig()),
        "as they are, --mirrored": (False, MatchConfig(mirrored=True)),
        "mirrored, --mirrored": (True, MatchConfig(mirrored=True)),
    }
    planned = [(name, setting, k) for name in runs for setting in SETTINGS for k in range(args.trials)]
    counts = {name: np.zeros(3, int) for name in runs}
    for name, (n, sigma, hard), k in tqdm(planned, desc="pairs", disable=args.quiet):
        mirrored, config = runs[name]
        pair = composite_pair(photographs, n, sigma, k, hard_poses=hard, mirrored=mirrored)
        counts[name] += [n, *_count_found(pair, config)]
    rows = [[name, *map(str, count)] for name, count in counts.items()]
    print(format_markdown(("objects", "in all", "found", "other clusters"), rows))
    for name in ("as they are", "mirrored, --mirrored"):
        alarms = sum(
            bool(match(*_make_unrelated(photographs, k), runs[name][1]).objects)
            for k in range(3 * args.trials)
        )
        print(f"unrelated composites, {name.split(', ')[-1]}: {alarms} of {3 * args.trials} with an object")


def _count_found(pair, config):
    """Count instances that a cluster finds, and clusters that find none."""
    result = match(pair.image0, pair.image1, config)
    instance = true_instance(pair, result.xy0, result.xy1)
    owners, others = set(), 0
    for k in range(len(result.objects)):
        on = instance[result.cluster == k]
        count = np.bincount(on[on >= 0], minlength=1)
        if len(on) >= LEAST and count.max() >= TRUE * len(on):
            owners.add(int(count.argmax()))
        else:
            others += 1
    return len(owners), others


def _make_unrelated(photographs, seed):
    """Two composites of different photographs."""
    order = np.random.default_rng(seed).permutation(len(photographs.tiles))
    halves = np.array_split(order, 2)
    squares = [[photographs.tiles[i] for i in half] for half in halves]
    return tuple(_make_montage(tiles) for tiles in squares)


def _make_montage(pictures, side=320, across=3):
    from synth.composite import fill_square

    tiles = [fill_square(pictures[k % len(pictures)], side) for k in range(across**2)]
    return np.vstack([np.hstack(tiles[k : k + across]) for k in range(0, across**2, across)])


if __name__ == "__main__":
    sys.exit(main())
