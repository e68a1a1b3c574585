"""Search for the nearest descriptors: by comparing all pairs, or among very many.

Very many descriptors are divided into cells by k-means, and only those in the cells nearest to a descriptor
are compared with it (Jegou, Douze and Schmid, PAMI 2011). Centres are whole numbers and all sums are exact,
so that the result depends neither on threads nor on the BLAS.
"""

import numpy as np

from matching._common.threads import default_threads, run_in_ranges, single_blas_thread
from matching._common.types import Array, Float32s, Floats, Ints
from matching.correspondences import _candidate_kernels

Points = tuple[Floats, Floats]  # (n, 2) points of features, and their clearances (n,), both in pixels

CELL_SIZE = 256  # mean number of descriptors in a cell
N_PROBES = 8  # cells that a descriptor is compared with
MIN_CELLS = 24  # fewer cells save little time
SAMPLES_PER_CELL = 64  # descriptors per cell from which the centres are computed
KMEANS_STEPS = 6  # iterations of k-means
BLOCK_ROWS = 4096  # descriptors searched at a time


def nearest_descriptors(
    descriptors0: Array,
    descriptors1: Array,
    width: int,
    block: int = 512,
    clear_points: tuple[Points, Points] | None = None,
) -> tuple[Ints, Float32s]:
    """Find the nearest rows of one set of descriptors for each row of another.

    descriptors0 (n0, d), descriptors1 (n1, d) float32 -> indices (n0, width), squared (n0, width) float32.
    `clear_points` leaves out pairs of points nearer than the larger of their clearances. Descriptors are
    whole numbers of norm about 2048, so that float32 holds every product below 2^24 exactly and the result
    doesn't depend on the BLAS or its threads.
    """
    n0, n1 = len(descriptors0), len(descriptors1)
    norm0 = np.einsum("ij,ij->i", descriptors0, descriptors0)
    nearest = np.full((n0, width), -1, np.int64)
    score = np.full(nearest.shape, np.inf, np.float32)
    norm1 = np.einsum("ij,ij->i", descriptors1, descriptors1)
    numbers = np.arange(max(n0, n1))

    def search(start: int, stop: int) -> None:
        rows = slice(start, stop)
        for first in range(0, n1, block):  # so that the products stay in the processor's cache
            columns = slice(first, first + block)
            similarity = descriptors0[rows] @ descriptors1[columns].T
            if clear_points is not None:
                (xy0, clearance0), (xy1, clearance1) = clear_points
                places = xy0[rows], clearance0[rows], xy1[columns], clearance1[columns]
                _candidate_kernels.exclude_near(similarity, *places)
            lists = numbers[rows], numbers[:n1][columns]
            distance = np.empty(similarity.shape[1], np.float32)
            _candidate_kernels.enter_nearest(similarity, norm1[columns], *lists, distance, nearest, score)

    with single_blas_thread():
        run_in_ranges(search, n0, max(min(block, -(-n0 // default_threads())), 1))
    return nearest, score + norm0[:, None]


def search_by_cells(descriptors0: Array, descriptors1: Array, width: int) -> tuple[Ints, Float32s]:
    """Find roughly the `width` of descriptors1 (n1, 128) nearest to each of descriptors0 (n0, 128)."""
    n_cells = len(descriptors1) // CELL_SIZE
    if n_cells < MIN_CELLS:
        return nearest_descriptors(descriptors0, descriptors1, width)
    centres = find_centres(descriptors1, n_cells)
    cell = nearest_descriptors(descriptors1, centres, 1)[0][:, 0]
    order = np.argsort(cell, kind="stable")
    starts = np.searchsorted(cell[order], np.arange(n_cells + 1))
    members = descriptors1[order]
    norms = np.einsum("ij,ij->i", members, members)
    probes = nearest_descriptors(descriptors0, centres, N_PROBES)[0]
    nearest = np.full((len(descriptors0), width), -1, np.int64)
    squared = np.full(nearest.shape, np.inf, np.float32)

    def search(start: int, stop: int) -> None:
        by_cell = np.argsort(probes[start:stop].ravel(), kind="stable")
        bounds = np.searchsorted(probes[start:stop].ravel()[by_cell], np.arange(n_cells + 1))
        for k in range(n_cells):
            rows = start + by_cell[bounds[k] : bounds[k + 1]] // N_PROBES
            cell_rows = slice(starts[k], starts[k + 1])
            similarity = descriptors0[rows] @ members[cell_rows].T
            distance = np.empty(similarity.shape[1], np.float32)
            _candidate_kernels.enter_nearest(
                similarity, norms[cell_rows], rows, order[cell_rows], distance, nearest, squared
            )

    with single_blas_thread():
        run_in_ranges(search, len(descriptors0), BLOCK_ROWS)
    return nearest, squared + np.einsum("ij,ij->i", descriptors0, descriptors0)[:, None]


def find_centres(descriptors: Array, n: int) -> Array:
    """Find n centres of cells by k-means on an even sample of descriptors (m, 128) float32 -> (n, 128)."""
    step = max(len(descriptors) // (n * SAMPLES_PER_CELL), 1)
    sample = descriptors[::step]
    centres: Array = sample[np.linspace(0, len(sample) - 1, n).astype(int)]
    for _ in range(KMEANS_STEPS):
        cell = nearest_descriptors(sample, centres, 1)[0][:, 0]
        order = np.argsort(cell, kind="stable")
        used, starts, sizes = np.unique(cell[order], return_index=True, return_counts=True)
        centres = centres.copy()
        sums = np.add.reduceat(sample[order].astype(np.float64), starts)  # whole numbers: exact
        centres[used] = np.rint(sums / sizes[:, None])
    return centres
