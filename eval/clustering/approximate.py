"""Approximate neighbours compared with faiss and pynndescent, if these are installed: CPU seconds and
recall.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eval.clustering.measuring import images, nmi
from eval.common.measuring import Clock
from gdl_core import GraphDegreeLinkage, knn_graph

CHOSEN = 1_000  # samples that recall is measured on
SHIFTS = ((0, 0), (0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (-1, -1))  # pixels
SMALLEST = 50  # min_cluster_size for NMI, because a picture and its shifts are neighbours of each other
HEAD = ("samples", "method", "CPU s", "recall", "NMI")


def compare_searches(data: Path, jobs: int) -> Iterator[list[str]]:
    """A row for each method on 200,000 points (K = 15) and on 70,000 pictures (K = 20); for the pictures also
    the NMI of a fit from exact and from approximate neighbours.
    """
    rng = np.random.default_rng(0)
    centres = rng.normal(0, 4, (100, 16))
    points = (centres[rng.integers(0, 100, 200_000)] + rng.normal(size=(200_000, 16))).astype(np.float32)
    chosen = rng.choice(len(points), CHOSEN, replace=False)
    yield from _compare(points, None, 15, (1024, 16), chosen, jobs)
    pictures, y = shifted_pictures(data)
    chosen = rng.choice(len(pictures), CHOSEN, replace=False)
    yield from _compare(pictures, y, 20, (256, 16), chosen, jobs)


def shifted_pictures(data: Path) -> tuple[NDArray[np.float32], NDArray]:
    """The MNIST test set and six copies of it shifted by a pixel, (70000, 784), and the digit of each
    picture.
    """
    rows, y = images(data, "mnist_test")
    pictures = rows.reshape(-1, 28, 28)
    shifted = [np.roll(pictures, shift, (1, 2)).reshape(-1, 784) for shift in SHIFTS]
    return np.concatenate(shifted), np.tile(y, len(SHIFTS))


def _compare(
    x: NDArray, y: NDArray | None, k: int, lists: tuple[int, int], chosen: NDArray, jobs: int
) -> Iterator[list[str]]:
    exact = find_exactly(x, chosen, k)
    for search in ("approximate",) if y is None else ("approximate", "exact"):
        knn_graph(x[:3000], k, search=search, n_jobs=jobs)  # compiles
        clock = Clock()
        knn = knn_graph(x, k, search=search, n_jobs=jobs)
        seconds = clock.seconds().cpu
        score = "" if y is None else f"{_score(knn.indices, knn.distances, y, jobs):.4f}"
        yield _row(x, f"`knn_graph`, {search}", seconds, recall(knn.indices[chosen], exact), score)
    others = {
        f"faiss IVFFlat, {lists[0]:,} lists, {lists[1]} probed": lambda: _search_with_faiss(x, k, *lists),
        "pynndescent": lambda: _search_with_pynndescent(x, k),
    }
    for name, call in others.items():
        try:
            found, seconds = call()
        except ImportError:
            continue
        yield _row(x, name, seconds, recall(found[chosen], exact), "")


def _score(indices: NDArray, distances: NDArray, y: NDArray, jobs: int) -> float:
    options = {"n_neighbors": indices.shape[1], "min_cluster_size": SMALLEST, "n_jobs": jobs}
    model = GraphDegreeLinkage(int(y.max()) + 1, "gdl-u", metric="precomputed", **options)
    return nmi(y, model.fit_predict((indices, distances)))


def _row(x: NDArray, name: str, seconds: float, found: float, score: str) -> list[str]:
    return [f"{len(x):,} x {x.shape[1]}", name, f"{seconds:.1f}", f"{found:.4f}", score]


def recall(found: NDArray, exact: NDArray) -> float:
    """The share of the exact neighbours (c, k) that were found."""
    shared = [len(set(a) & set(b)) for a, b in zip(found.tolist(), exact.tolist(), strict=True)]
    return sum(shared) / exact.size


def find_exactly(x: NDArray, chosen: NDArray, k: int) -> NDArray:
    """The k nearest neighbours (c, k) of the chosen samples, without the samples themselves."""
    from sklearn.neighbors import NearestNeighbors

    found = NearestNeighbors(n_neighbors=k + 1, algorithm="brute").fit(x).kneighbors(x[chosen])[1]
    return np.array([row[row != i][:k] for i, row in zip(chosen, found, strict=True)])


def _search_with_faiss(x: NDArray, k: int, n_lists: int, n_probes: int) -> tuple[NDArray, float]:
    import faiss

    clock = Clock()
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(x.shape[1]), x.shape[1], n_lists)
    index.train(x)
    index.add(x)
    index.nprobe = n_probes
    return index.search(x, k + 1)[1][:, 1:], clock.seconds().cpu


def _search_with_pynndescent(x: NDArray, k: int) -> tuple[NDArray, float]:
    from pynndescent import NNDescent

    NNDescent(x[:3000], n_neighbors=k + 1, n_jobs=1, random_state=0)  # compiles
    clock = Clock()
    graph = NNDescent(x, n_neighbors=k + 1, n_jobs=1, random_state=0).neighbor_graph
    return graph[0][:, 1:], clock.seconds().cpu
