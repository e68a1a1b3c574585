"""Connected components of undirected links."""

import numpy as np
import scipy

from matching._common.types import Array, Ints


def find_components(n: int, pairs: Array) -> Ints:
    """Number the connected components of n items, of which pairs (k, 2) are linked -> (n,)."""
    ends = np.asarray(pairs, np.int64).reshape(-1, 2).T
    if not ends.size:
        return np.arange(n)
    # SciPy loads these modules when they are first used, which takes time that unlinked items need not spend
    links = scipy.sparse.coo_array((np.ones(ends.shape[1]), tuple(ends)), shape=(n, n))
    labels: Ints = scipy.sparse.csgraph.connected_components(links, directed=False)[1]
    return labels
