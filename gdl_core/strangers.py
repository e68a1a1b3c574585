"""Finds strangers, the samples that belong to no cluster: the best paths join them only to far denser parts.

c_i is the distance from sample i to its fifth neighbour, and h_i the mean of log(c_i / distance) over the
four before it, each at most 1: what chance gives at the density of i (the inverse of the dimension, Levina
and Bickel 2004).
The contrast of a part S of the samples, whose best paths to the rest begin with a step of length s, is
D(S) = sum_i log(s / c_i) / sum_i h_i: how sparse the samples around S are, in units of that chance.
"""

import numpy as np

from ._common.types import Bools
from .completion import join_in_order
from .graph import KnnGraph
from .paths import find_paths
from .tree import MergeTree, spread_below

RANK = 5  # the neighbour at the distance c_i; parts of no more samples have no density of their own
# contrasts; with 3.5 for the second, 2 % of a normal cluster in 32 dimensions are strangers, with 4, 1 %
DOUBTFUL, STRANGE = 2.0, 4.0
ROUNDING = 1e-9  # least h_i: on a grid all five neighbours may be equally far


def find_strangers(knn: KnnGraph) -> Bools:
    """Find the samples that belong to no cluster.

    Parts are merged along the best paths, from the shortest step on (single linkage). Where at most five
    samples join a larger part, its contrast decides: above 4 they are strangers, and above 2 they don't count
    in its later contrasts, because otherwise a crowd of strangers would hide in it one by one.

    Parameters
    ----------
    knn : KnnGraph

    Returns
    -------
    (n,) bool
    """
    n, rank = knn.n_samples, min(RANK, knn.n_neighbors)
    paths = find_paths(knn, rank)
    parent, step = paths.forest
    is_linked = np.isfinite(step)
    singles = MergeTree(np.arange(n), np.empty((0, 2), np.int64), np.empty(0))
    tree = join_in_order(singles, np.flatnonzero(is_linked), parent[is_linked], step[is_linked])
    nearer = np.clip(knn.distances[:, :rank] / paths.spacing[:, None], np.exp(-1), 1.0)
    chance = np.maximum(-np.log(nearer).sum(axis=1) / max(rank - 1, 1), ROUNDING)
    count, excess, scale = [1] * n, (-np.log(paths.spacing)).tolist(), chance.tolist()
    stranger = np.full(n + len(tree.children), -1)
    for height, pair in zip(np.log(np.sort(step[is_linked])).tolist(), tree.children.tolist(), strict=True):
        small, large = sorted(pair, key=count.__getitem__)
        total = height * count[large] + excess[large]
        is_apart = count[small] <= RANK < count[large] and total > DOUBTFUL * scale[large]
        if is_apart and total > STRANGE * scale[large]:
            stranger[small] = 1
        for sums in (count, excess, scale):
            sums.append(sums[large] + (0 if is_apart else sums[small]))
    is_stranger: Bools = spread_below(tree, stranger)[:n] > 0
    return is_stranger
