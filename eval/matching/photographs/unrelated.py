"""How often do unrelated pictures give an object?

A random picture of the first folder is paired with a random one of the second (all must show different
things). This prints how many pairs have an object, how sure it is (`matching.objects.confidence`), and
the lowest number of false alarms of any group (`matching.core.significance`), as a decimal logarithm.
With --view-synthesis, features of simulated views are also matched, and objects must be significant there.
"""

import argparse
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
from tqdm import tqdm

from eval.common.options import add_options
from matching import MatchConfig
from matching.collection.plan import list_pictures
from matching.core.pair import match_pair
from matching.core.source import ImageSource
from matching.objects.confidence import WORDS
from matching.pictures.images import read_picture

VIEWS = MatchConfig(view_synthesis=True)


class PathSource(ImageSource):
    """A picture in a file, whose pixels are read again when they are needed."""

    def __init__(self, path, config):
        self.path, self.config = path, config

    @property
    def picture(self):
        return read_picture(self.path)


FREE = replace(MatchConfig(), objects=replace(MatchConfig().objects, max_log_nfa=1000.0))


def find_best_object(first, second):
    """Significance, matches and confidence of the best object of two sources; None without one."""
    best = min(match_pair(first, second).objects, key=lambda found: found.log_nfa, default=None)
    return None if best is None else (best.log_nfa, best.n_matches, best.confidence)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folders", nargs=2, type=Path, metavar="FOLDER", help="folders of pictures")
    add_options(parser, "seed", pairs=200)
    parser.add_argument("--view-synthesis", action="store_true", help="also match simulated views")


def run(options: argparse.Namespace) -> None:
    pictures = [[Path(path) for path in list_pictures(folder)] for folder in options.folders]
    possible = sorted({tuple(sorted((a, b))) for a in pictures[0] for b in pictures[1] if a != b})
    if not possible:
        raise ValueError(f"{options.folders[0]} and {options.folders[1]} must hold two different pictures")
    order = np.random.default_rng(options.seed).permutation(len(possible))[: options.pairs]
    pairs = [possible[i] for i in order]
    config = VIEWS if options.view_synthesis else FREE

    @cache
    def open_source(path):
        """Describe a picture once, but let go of its pixels."""
        return PathSource(path, config)

    best = [find_best_object(*map(open_source, pair)) for pair in tqdm(pairs, desc="pairs")]
    log_nfa = np.array([np.inf if found is None else found[0] for found in best])
    words = []
    for k in np.flatnonzero(log_nfa <= MatchConfig().objects.max_log_nfa):
        measured, n_matches, word = best[k]
        words.append(word)
        print(f"{pairs[k][0].name} and {pairs[k][1].name}: 10^{measured:.1f}, {n_matches} matches, {word}")
    with_group = np.isfinite(log_nfa)
    print(f"{len(pairs)} unrelated pairs, {len(words)} with an object")
    print("of these " + ", ".join(f"{words.count(word)} {word}" for word in WORDS))
    least = f", fewest false alarms 10^{log_nfa.min():.1f}" if with_group.any() else ""
    print(f"a group of matches, significant or not, in {np.count_nonzero(with_group)}{least}")
