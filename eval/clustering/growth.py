"""Time and memory against the number of samples: whole fits, and a fit from a graph in files.

Each fit is measured in a separate process, after a small fit that compiles.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eval.clustering.measuring import N_BLOBS, blobs, nmi
from eval.common.measuring import Clock, peak_megabytes
from gdl_core import GraphDegreeLinkage, knn_graph

NEIGHBOURS = 20
GRAPH = ("indices.npy", "distances.npy", "labels.npy")  # (n, K) int32, (n, K) float32, (n,) int32


class Fit(NamedTuple):
    """The cost and the quality of a fit."""

    n: int
    neighbours: float  # CPU seconds of the search for neighbours, or of reading them
    merging: float  # CPU seconds
    cpu: float  # CPU seconds of the whole fit
    wall: float
    before: float  # GB at the peak before the fit
    peak: float  # GB at the peak
    score: float


class _TimedFit(GraphDegreeLinkage):
    """Keeps the CPU seconds of two steps of a fit."""

    def _neighbours(self, X: Any):
        clock = Clock()
        found = super()._neighbours(X)
        self.neighbours_seconds_ = clock.seconds().cpu
        return found

    def _merge(self, labels: NDArray):
        clock = Clock()
        merged = super()._merge(labels)
        self.merging_seconds_ = clock.seconds().cpu
        return merged


def fit_blobs(n: int, jobs: int) -> Fit:
    """A whole fit of samples."""
    x, y = blobs(n)
    return _fit(x, y, "euclidean", jobs)


def fit_given_graph(folder: Path, jobs: int) -> Fit:
    """A fit from neighbours in files, which are mapped and not read into memory."""
    indices, distances, y = (np.load(folder / name, mmap_mode="r") for name in GRAPH)
    return _fit((indices, distances), y, "precomputed", jobs)


def _fit(x: Any, y: NDArray, metric: str, jobs: int) -> Fit:
    GraphDegreeLinkage(2, "gdl-u", min_cluster_size=1).fit(blobs(200)[0])  # compiles
    model = _TimedFit(
        N_BLOBS, "gdl-u", n_neighbors=NEIGHBOURS, min_cluster_size=1, metric=metric, n_jobs=jobs
    )
    before, clock = peak_megabytes() / 2**10, Clock()
    model.fit(x)
    wall, cpu = clock.seconds()
    peak = peak_megabytes() / 2**10  # before the scores, which take memory too
    seconds = model.neighbours_seconds_, model.merging_seconds_
    return Fit(len(y), *seconds, cpu, wall, before, peak, nmi(y, model.labels_))


def write_graph(n: int, folder: Path, jobs: int) -> tuple[float, float]:
    """Find the neighbours of n samples and write them to files; returns CPU seconds and GB at the peak."""
    x, y = blobs(n)
    clock = Clock()
    knn = knn_graph(x, NEIGHBOURS, n_jobs=jobs)
    cpu = clock.seconds().cpu
    folder.mkdir(parents=True, exist_ok=True)
    distances = knn.distances.astype(np.float32)
    for name, array in zip(GRAPH, (knn.indices, distances, y.astype(np.int32)), strict=True):
        beside = folder / f"{name}.part"
        with beside.open("wb") as file:
            np.save(file, array)
        beside.replace(folder / name)
    return cpu, peak_megabytes() / 2**10


def has_graph(n: int, folder: Path) -> bool:
    """Whether the folder holds a graph of n samples. Raises ValueError if its graph has another number."""
    if not all((folder / name).is_file() for name in GRAPH):
        return False
    shape = np.load(folder / GRAPH[0], mmap_mode="r").shape
    if shape != (n, NEIGHBOURS):
        raise ValueError(f"{folder / GRAPH[0]} must have shape ({n}, {NEIGHBOURS}), got {shape}")
    return True


def fit_row(fit: Fit, name: str = "") -> list[str]:
    """A row of the table, with the columns of `HEAD`."""
    seconds = (f"{s:.3g}" if s < 100 else f"{s:.0f}" for s in (fit.neighbours, fit.merging, fit.cpu))
    return [name or f"{fit.n:,}", *seconds, f"{fit.before:.2f}", f"{fit.peak:.2f}", f"{fit.score:.4f}"]


HEAD = ("samples", "CPU s: neighbours", "merging", "whole fit", "GB before the fit", "GB at the peak", "NMI")
