"""Nearest descriptors among very many: only those in the cells around a descriptor are compared.

The descriptors of one picture are divided into cells by k-means, and each of the other picture's is compared
with those in the cells whose centres are nearest to it (an inverted file: Jegou, Douze and Schmid, PAMI
2011). Centres are rounded to whole numbers and all sums are exact, so that the result does not depend on
threads, nor on the BLAS.
"""

from __future__ import annotations

import numpy as np

from matching._types import Array, Float32s, Ints
from matching.correspondences import _candidate_kernels
from matching.correspondences.candidates import nearest_descriptors
from matching.threads import run_in_ranges, single_blas_thread

PER_CELL = 256  # descriptors, on average
PROBES = 8  # cells that a descriptor is compared with
LEAST_CELLS = 24  # with fewer, there is not much to be gained
SAMPLE = 64  # descriptors a cell that its centre is found from
ROUNDS = 6  # of k-means
BLOCK = 4096  # descriptors looked up at a time


def search_by_cells(
    descriptors0: Array, descriptors1: Array, width: int, n_threads: int = 1
) -> tuple[Ints, Float32s]:
    """Find about the `width` nearest rows of descriptors1 for each row of descriptors0.

    Parameters
    ----------
    descriptors0, descriptors1 : (n0, 128), (n1, 128) float32
        Whole numbers, see `nearest_descriptors`, which is called where there are few.
    width : int
        Neighbours of each.
    n_threads : int
        Threads; the result is the same for any number.

    Returns
    -------
    indices : (n0, width) int64
        -1 where there are fewer.
    squared : (n0, width) float32
        Squared distances.
    """
    n_cells = len(descriptors1) // PER_CELL
    if n_cells < LEAST_CELLS:
        return nearest_descriptors(descriptors0, descriptors1, width, n_threads)
    centres = find_centres(descriptors1, n_cells, n_threads)
    cell = nearest_descriptors(descriptors1, centres, 1, n_threads)[0][:, 0]
    order = np.argsort(cell, kind="stable")
    starts = np.searchsorted(cell[order], np.arange(n_cells + 1))
    members = descriptors1[order]
    norms = np.einsum("ij,ij->i", members, members)
    probes = nearest_descriptors(descriptors0, centres, PROBES, n_threads)[0]
    found = np.full((len(descriptors0), width), -1, np.int64)
    squared = np.full(found.shape, np.inf, np.float32)

    def search(start: int, stop: int) -> None:
        asked = np.argsort(probes[start:stop].ravel(), kind="stable")
        bounds = np.searchsorted(probes[start:stop].ravel()[asked], np.arange(n_cells + 1))
        for k in range(n_cells):
            rows = start + asked[bounds[k] : bounds[k + 1]] // PROBES
            own = slice(starts[k], starts[k + 1])
            similarity = descriptors0[rows] @ members[own].T
            _candidate_kernels.enter_nearest(similarity, norms[own], rows, order[own], found, squared)

    with single_blas_thread():
        run_in_ranges(search, len(descriptors0), n_threads, BLOCK)
    return found, squared + np.einsum("ij,ij->i", descriptors0, descriptors0)[:, None]


def find_centres(descriptors: Array, n: int, n_threads: int = 1) -> Array:
    """Find the centres of cells, by k-means on an even sample.

    Parameters
    ----------
    descriptors : (m, 128) float32
        Whole numbers.
    n : int
        Cells.
    n_threads : int
        Threads; the result is the same for any number.

    Returns
    -------
    (n, 128) float32
        Whole numbers.
    """
    step = max(len(descriptors) // (n * SAMPLE), 1)
    sample = descriptors[::step]
    centres: Array = sample[np.linspace(0, len(sample) - 1, n).astype(int)]
    for _ in range(ROUNDS):
        cell = nearest_descriptors(sample, centres, 1, n_threads)[0][:, 0]
        order = np.argsort(cell, kind="stable")
        used, starts, sizes = np.unique(cell[order], return_index=True, return_counts=True)
        centres = centres.copy()
        sums = np.add.reduceat(sample[order].astype(np.float64), starts)  # whole numbers: exact
        centres[used] = np.rint(sums / sizes[:, None])
    return centres
