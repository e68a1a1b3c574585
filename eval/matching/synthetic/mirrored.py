"""Mirrored objects: how many are found, compared with the same objects not mirrored; and false alarms.

The pairs are composites of 3 x 3 photographs with M objects in common (plain, bent and in hard poses), and
composites that have nothing in common. Prints a table.
"""

import argparse

import numpy as np
from tqdm import tqdm

from eval.common.options import add_options, choose_photographs
from eval.common.tables import format_markdown
from eval.matching.metrics import count_objects
from matching import MatchConfig, match
from synth.composite import composite_pair, fill_square, true_instance

SETTINGS = ((3, 0.0, False), (3, 10.0, False), (2, 0.0, True))  # M, sigma, hard poses


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, "models", "tiles", "quiet", trials=3)


def run(args: argparse.Namespace) -> None:
    photographs = choose_photographs(args)
    runs = {
        "as they are": (False, MatchConfig()),
        "as they are, --mirrored": (False, MatchConfig(mirrored=True)),
        "mirrored": (True, MatchConfig()),
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
    """Count the instances that a cluster shows, and the other clusters."""
    result = match(pair.image0, pair.image1, config)
    instance = true_instance(pair, result.xy0, result.xy1)
    count = count_objects(result.cluster, instance, pair.n_instances)
    return count.found, len(result.objects) - count.clusters


def _make_unrelated(photographs, seed):
    """Two montages of 3 x 3 photographs that have none in common."""
    order = np.random.default_rng(seed).permutation(len(photographs.tiles))
    return tuple(
        _make_montage([photographs.tiles[i] for i in np.resize(half, 9)]) for half in np.array_split(order, 2)
    )


def _make_montage(pictures, side=320):
    tiles = [fill_square(picture, side) for picture in pictures]
    return np.vstack([np.hstack(tiles[k : k + 3]) for k in (0, 3, 6)])
