"""Connected components, with NumPy alone, because SciPy's csgraph takes longer to import than to run."""

import numpy as np

from .types import Array, Ints


def number_components(n: int, source: Array, target: Array) -> Ints:
    """Number the connected components of n items, in the order of their smallest members.

    Parameters
    ----------
    n : int
    source, target : (k,) array of int
        The ends of the links.

    Returns
    -------
    (n,) int64
    """
    items = np.arange(n, dtype=np.int32)
    root = items.copy()  # (n,) the smallest item that is known to be in the same component
    while True:
        a, b = root[source], root[target]
        is_apart = a != b
        if not is_apart.any():
            return (np.cumsum(root == items) - 1)[root]
        source, target = a[is_apart], b[is_apart]
        np.minimum.at(root, np.maximum(source, target), np.minimum(source, target))
        while (root != root[root]).any():
            root = root[root]
