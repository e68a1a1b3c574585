"""A cluster falls into parts that hang together.

Two correspondences i, j hang together when they are near in both images and their ACC distance d_ij is
small against their gap, the larger of |x0_i - x0_j| and |x1_i - x1_j|.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from matching.errors import check_at_least
from matching.geometry import acc_of_pairs, gap_of_pairs
from matching.verification import nearest_in_both, scales


@dataclass(frozen=True)
class PartsConfig:
    """When correspondences hang together.

    What is called a reach counts pixels of the image where the part is smaller.
    """

    min_cluster_score: float = 4.0  # connectivity of a cluster below which it isn't looked at
    min_close: int = 4  # close neighbours that a correspondence must have
    n_neighbors: int = 8
    tolerance: float = 12.0  # pixels of ACC distance
    slope: float = 0.3  # ACC distance a pixel of gap, where that is more
    reach: float = 100.0  # pixels, largest gap
    min_matches: int = 8  # in a part
    seam_pairs: int = 200  # closest pairs across, which decide on joining
    seam_tolerance: float = 6.0  # pixels that a pair may be off ...
    seam_slope: float = 0.5  # ... and so many more a pixel of gap; fine patterns repeat within more
    seam_neighbors: int = 30  # nearest matches of one part, whose affine map tells where the other's are
    seam_reach: float = 120.0  # pixels
    min_width: float = 0.15  # spread of a part across over along; matches in one line fix no map
    min_length: float = 6.0  # pixels, spread along; in less, any matches agree to within the tolerance
    # of a part's points amid matches of stronger parts, in both pictures: it has no place of its own
    covered_share: float = 0.5

    def __post_init__(self):
        check_at_least(self, min_cluster_score=0, min_close=1, n_neighbors=1, tolerance=0, slope=0, reach=0)
        check_at_least(self, min_matches=4, seam_pairs=1, seam_tolerance=1e-3, seam_slope=0)
        check_at_least(self, seam_neighbors=1, seam_reach=0, min_width=0, min_length=0, covered_share=0)


def dense_parts(candidates, knn, members, config=PartsConfig()):
    """The connected parts of a cluster in the graph of its close neighbours; members with few of those are
    left out.

    Close neighbours of a correspondence: those of its K nearest that are in the same cluster and hang
    together with it. Copies of one object, and strangers among its matches, fall apart here.
    """
    inside = np.full(knn.n_samples, -1)
    inside[members] = np.arange(len(members))
    near = inside[knn.indices[members]]
    i, column = np.nonzero(near >= 0)
    j = near[i, column]
    distance = knn.distances[members[i], column]
    close = hang_together(candidates, members, i, j, distance, config)
    i, j = i[close], j[close]
    core = np.bincount(i, minlength=len(members)) >= min(config.min_close, knn.n_neighbors)
    both = core[i] & core[j]
    number = np.cumsum(core) - 1
    return _components(members[core], number[i[both]], number[j[both]], config.min_matches)


def hang_together(candidates, members, i, j, distance, config):
    """(q,) bool: which pairs i, j of members do, by their ACC distance (q,), with or without gap_slope."""
    gap = gap_of_pairs(candidates, members[i], members[j])
    reach = config.reach * max(scales(candidates, members))
    return (distance < np.maximum(config.tolerance, config.slope * gap)) & (gap < reach)


def _components(members, i, j, least):
    """Connected components of the links i - j, as arrays of members, the largest first; those below `least`
    dropped.
    """
    if len(members) == 0:
        return []
    links = coo_matrix((np.ones(len(i)), (i, j)), (len(members), len(members)))
    label = connected_components(links, directed=False)[1]
    parts = [members[label == c] for c in range(label.max() + 1)]
    return sorted((p for p in parts if len(p) >= least), key=lambda p: (-len(p), p[0]))


def split_parts(candidates, members, config=PartsConfig()):
    """The connected parts of a cluster, each an array of candidate numbers, the largest first; small ones
    dropped.
    """
    if len(members) < config.min_matches:
        return []
    k = min(config.n_neighbors, len(members) - 1)
    i = np.repeat(np.arange(len(members)), k)
    near = nearest_in_both(candidates, members, k)
    i, j = np.concatenate([i, i]), np.concatenate([near[0].ravel(), near[1].ravel()])
    distance = acc_of_pairs(candidates, members[i], members[j])
    linked = hang_together(candidates, members, i, j, distance, config)
    return _components(members, i[linked], j[linked], config.min_matches)


def is_wide(xy, config=PartsConfig()):
    """Whether points (n, 2) spread in two directions: standard deviations along and across of at least
    min_length and min_width times that.
    """
    low, high = np.linalg.eigvalsh(np.cov(xy.T))
    return low > 0 and low >= config.min_width**2 * high and high >= config.min_length**2
