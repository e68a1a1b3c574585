"""The choice of the candidates that a result lists."""

import numpy as np

from matching._common.types import Bools, Floats, Ints
from matching.grouping.objects import FEW_MATCHES


def choose_rows(labels: Ints, score: Floats, is_pool: Bools, most: int) -> Ints:
    """Choose the matches of objects, then the best outliers; labels, score, is_pool (m,) -> (k,).

    There are more than `most` if the objects do not fit in otherwise: each keeps as many as the smallest
    object has (`FEW_MATCHES`).
    """
    order = np.lexsort((score, is_pool))
    ordered = labels[order]
    sizes = np.bincount(ordered[ordered >= 0])
    share = max(_fair_share(sizes, most), FEW_MATCHES)
    members = [order[ordered == k][:share] for k in range(len(sizes))]
    most = max(most, sum(map(len, members)))
    return np.sort(np.concatenate([*members, order[ordered < 0]])[:most])


def _fair_share(sizes: Ints, places: int) -> int:
    """The largest limit on the size of groups with which all of them fit into the places."""
    share = int(sizes.max(initial=0))
    while np.minimum(sizes, share).sum() > places:
        share -= 1
    return share
