"""How often do unrelated pictures give an object?

A random picture of the first folder is paired with a random one of the second (all must show different
things). This prints how many pairs have an object, how sure it is (`matching.objects.confidence`), its
number of false alarms (`matching.agreement.existence`), as a decimal logarithm, and how many pairs have a
group of matches at all. With --view-synthesis, features of simulated views are also matched.
"""

import argparse
from functools import cache
from pathlib import Path

import numpy as np
from tqdm import tqdm

from eval.common.options import add_options
from matching import MatchConfig
from matching.collection.plan import list_pictures
from matching.drivers.pair import match_pair
from matching.objects.confidence import WORDS
from matching.pictures.images import read_picture
from matching.searches.source import ImageSource

VIEWS = MatchConfig(view_synthesis=True)


class PathSource(ImageSource):
    """A picture in a file, whose pixels are read again when they are needed."""

    def __init__(self, path, config):
        self.path, self.config = path, config

    @property
    def picture(self):
        return read_picture(self.path)


def find_best_object(first, second):
    """False alarms, matches and confidence of the best object of two sources, and whether there is any group.

    The first three are None without an object; the number of false alarms is nan if it can't be measured.
    """
    result = match_pair(first, second)
    if not result.objects:
        return None, None, None, bool(result.rejected)
    best = result.objects[0]  # the strongest evidence comes first
    return np.nan if best.log_nfa is None else best.log_nfa, best.n_matches, best.confidence, True


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
    config = VIEWS if options.view_synthesis else MatchConfig()

    @cache
    def open_source(path):
        """Describe a picture once, but let go of its pixels."""
        return PathSource(path, config)

    best = [find_best_object(*map(open_source, pair)) for pair in tqdm(pairs, desc="pairs")]
    words = []
    for pair, (log_nfa, n_matches, word, _) in zip(pairs, best, strict=True):
        if word is not None:
            words.append(word)
            print(f"{pair[0].name} and {pair[1].name}: 10^{log_nfa:.1f}, {n_matches} matches, {word}")
    print(f"{len(pairs)} unrelated pairs, {len(words)} with an object")
    print("of these " + ", ".join(f"{words.count(word)} {word}" for word in WORDS))
    print(f"a group of matches, an object or not, in {sum(found[3] for found in best)}")
