"""How far matches can be trusted by their scores, whatever the matcher's unit: the objects found tell.

Distances of descriptors and confidences of networks have no common scale. But of the matches whose scores are
about as good as that of a match, a known share lies in objects. That share is how likely the match is right.
"""

from __future__ import annotations

import numpy as np
import scipy

from matching._common.types import Bools, Floats, Ints

N_CLASSES = 10  # of matches by their scores, all about as large
# Matches of the mean share that are added to each class, so that few matches change little.
N_ADDED = 10.0


def choose_best(score: Floats, rows: Ints, n: int) -> Ints:
    """Choose the n rows (k,) with the best scores, of equal ones at random, in ascending order."""
    drawn = np.random.default_rng(0).permutation(rows)
    return np.sort(drawn[np.argsort(score[drawn], kind="stable")][:n])


def measure_trust(score: Floats, is_grouped: Bools) -> Floats:
    """Measure how likely each match is right (n,), from its score and whether it is in a group.

    Smaller scores are better, and the better of two scores is never trusted less. Equal scores tell nothing.
    """
    _, number, counts = np.unique(score, return_inverse=True, return_counts=True)
    middle = (np.cumsum(counts) - counts / 2)[number] / max(len(score), 1)
    kind = (middle * N_CLASSES).astype(int)
    n, n_right = np.bincount(kind, minlength=N_CLASSES), np.bincount(kind, is_grouped, N_CLASSES)
    share = (n_right + N_ADDED * is_grouped.mean()) / (n + N_ADDED)
    return np.asarray(np.minimum.accumulate(share)[kind])


def measure_odds(trust: Floats) -> Floats:
    """Measure by how much more likely matches are right than the mean one, as a logarithm (n,)."""
    odds = scipy.special.logit(np.clip(trust, 0.01, 0.99))
    return np.asarray(odds - np.median(odds))
