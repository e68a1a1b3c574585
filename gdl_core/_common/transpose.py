"""Orders the edges of a graph by their targets, without SciPy: its import takes longer than merging a small
graph.
"""

import numpy as np

from .types import Int32s, Ints
from .views import view_read_only


def transpose(indptr: Ints, indices: Int32s) -> tuple[Ints, Int32s, Ints]:
    """Order the edges of a graph by their targets.

    Parameters
    ----------
    indptr : (n + 1,) int64
        The edges of vertex i are ``indices[indptr[i] : indptr[i + 1]]``.
    indices : (E,) int32
        Targets in [0, n).

    Returns
    -------
    start : (n + 1,) int64
        The edges to vertex j are ``start[j]`` to ``start[j + 1]`` of the new order.
    source : (E,) int32
        The source of each edge, ascending for each target.
    edge : (E,) int64
        The index of each edge in ``indices``.
    """
    from .transpose_kernel import fill_transposed

    start, source = np.zeros(len(indptr), np.int64), np.empty(len(indices), np.int32)
    edge = np.empty(len(indices), np.int64)
    fill_transposed(view_read_only(indptr), view_read_only(indices), start, source, edge)
    return start, source, edge
