"""Connected components of undirected links."""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from matching._common.types import Array, Ints


def find_components(n: int, pairs: Array) -> Ints:
    """Number the connected components of n things, of which pairs (k, 2) are linked -> (n,)."""
    ends = np.asarray(pairs, np.int64).reshape(-1, 2).T
    links = coo_array((np.ones(ends.shape[1]), tuple(ends)), shape=(n, n))
    labels: Ints = connected_components(links, directed=False)[1] if n else np.empty(0, np.int64)
    return labels
