"""Search for the nearest descriptors: among all, within a bound, or among very many.

A projection never lengthens a difference: if the first principal components of two descriptors differ by more
than a bound, so do the descriptors. So some of the components rule out nearly all distant pairs, without any
error.

Very many descriptors are divided into cells by k-means, and only those in the cells nearest to a descriptor
are compared with it (Jegou, Douze and Schmid, PAMI 2011). Centres are whole numbers and all sums are exact,
so that the result depends neither on threads nor on the BLAS.
"""

from collections.abc import Sequence

import numpy as np

from matching._common.threads import default_threads, run_in_ranges, single_blas_thread
from matching._common.types import Array, Float32s, Floats, Ints
from matching.correspondences import _candidate_kernels

Points = tuple[Floats, Floats]  # (n, 2) points of features, and their clearances (n,), both in pixels

N_COMPONENTS = 48  # of 128: with 32, more pairs pass the bound than the shorter products save
SAMPLE_STEP = 32  # every 32nd descriptor tells the principal components, and the bound
SURPLUS = 3  # times the pairs that are wanted: some of those within the bound are near duplicates
MAX_BOUND_SHARE = 0.002  # of all pairs: if more are wanted, a bound saves nothing
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
    bound: float = np.inf,
) -> tuple[Ints, Float32s]:
    """Find the nearest rows of one set of descriptors for each row of another, within a squared distance.

    descriptors0 (n0, d), descriptors1 (n1, d) float32 -> indices (n0, width), -1 for none, squared (n0,
    width) float32. `clear_points` leaves out pairs of points nearer than the larger of their clearances.
    Descriptors are whole numbers of norm about 2048, so that float32 holds every product below 2^24 exactly
    and the result doesn't depend on the BLAS or its threads.
    """
    n0, n1 = len(descriptors0), len(descriptors1)
    norm0, norm1 = (np.einsum("ij,ij->i", each, each) for each in (descriptors0, descriptors1))
    nearest = np.full((n0, width), -1, np.int64)
    score = np.repeat((bound - norm0)[:, None].astype(np.float32), width, axis=1)
    numbers = np.arange(max(n0, n1))
    within = None if np.isinf(bound) else _Projection(descriptors0, descriptors1, norm1, bound)

    def search(start: int, stop: int) -> None:
        rows = slice(start, stop)
        for first in range(0, n1, block):  # so that the products stay in the processor's cache
            columns = slice(first, first + block)
            if within is not None:
                within.enter(rows, columns, nearest[rows], score[rows])
                continue
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


class _Projection:
    """Two sets of descriptors and their first principal components, to search within a bound."""

    def __init__(self, descriptors0: Array, descriptors1: Array, norm1: Array, bound: float) -> None:
        sample = np.concatenate([descriptors0[::SAMPLE_STEP], descriptors1[::SAMPLE_STEP]])
        _, axes = np.linalg.eigh(sample.T.astype(np.float64) @ sample)
        basis = axes[:, -N_COMPONENTS:].astype(np.float32)
        self.whole = descriptors0.astype(np.int16), descriptors1.astype(np.int16)
        self.projected = descriptors0 @ basis, descriptors1 @ basis
        half0, self.half1 = (np.einsum("ij,ij->i", each, each) / 2 for each in self.projected)
        rounding = len(basis) * np.finfo(np.float32).eps * norm1.max(initial=bound)
        self.min_product = half0 - np.float32((bound + rounding) / 2)  # less half the length of the other one
        self.norm1 = norm1

    def enter(self, rows: slice, columns: slice, nearest: Ints, score: Float32s) -> None:
        """Enter the columns into the lists of the nearest of the rows, nearest and score (b, width)."""
        _candidate_kernels.enter_within(
            self.projected[0][rows] @ self.projected[1][columns].T,
            self.min_product[rows], self.half1[columns],
            self.whole[0][rows], self.whole[1][columns], self.norm1[columns], columns.start, nearest, score,
        )  # fmt: skip


def estimate_bound(sets: Sequence[tuple[Array, Array]], width: int, n_wanted: int) -> float:
    """Estimate, from a sample, a squared distance below which there are more pairs than wanted."""
    n_within = SURPLUS * n_wanted
    if n_within >= MAX_BOUND_SHARE * sum(len(a) * len(b) for a, b in sets):
        return np.inf
    squared = [nearest_descriptors(a[::SAMPLE_STEP], b, width)[1].ravel() for a, b in sets]
    sample, rank = np.concatenate(squared), n_within // SAMPLE_STEP
    return float(np.partition(sample, rank)[rank]) + 0.5 if rank < len(sample) else np.inf


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
