"""The input of all methods: features, distances and neighbours of one set, each computed once.

Stages (neighbours, distances, eigenvectors) are kept in a folder, so that methods that run in separate
processes share them. A method's time includes the time of the stages that it uses, even if another method
computed them.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.metrics.pairwise import euclidean_distances

from eval.images.lbp import chi_square_distances
from gdl_core import AffinityGraph, KnnGraph, affinity_graph, knn_graph


@dataclass
class Clock:
    """Wall and CPU seconds of its `with` blocks, and seconds added to it."""

    wall: float = 0.0
    cpu: float = 0.0

    def __enter__(self) -> "Clock":
        self._start = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *exception) -> None:
        self.add(time.perf_counter() - self._start[0], time.process_time() - self._start[1])

    def add(self, wall: float, cpu: float) -> None:
        self.wall += wall
        self.cpu += cpu


@dataclass(frozen=True, eq=False)
class Stages:
    """Arrays by name in `folder`, with the seconds that they took.

    `search` and `shared` add up the recorded seconds of stages that were read from the folder instead of
    being computed: `search` those of neighbours and distances, `shared` those of all other stages. Each stage
    is counted once.
    """

    folder: Path
    search: Clock = field(default_factory=Clock)
    shared: Clock = field(default_factory=Clock)
    taken: set[str] = field(default_factory=set)

    def get(
        self, name: str, compute: Callable[[], dict[str, NDArray]], *, searching: bool = False
    ) -> dict[str, NDArray]:
        """The arrays of a stage, memory-mapped; computed and stored if they are missing."""
        place = self.folder / name
        if not place.is_dir():
            self._store(place, compute)
            self.taken.add(name)
        if name not in self.taken:
            self.taken.add(name)
            seconds = json.loads((place / "seconds.json").read_text())
            (self.search if searching else self.shared).add(**seconds)
        return {path.stem: np.load(path, mmap_mode="r") for path in place.glob("*.npy")}

    def _store(self, place: Path, compute) -> None:
        with Clock() as clock:
            arrays = compute()
        beside = Path(mkdtemp(dir=self.folder))
        for key, array in arrays.items():
            np.save(beside / f"{key}.npy", array)
        (beside / "seconds.json").write_text(json.dumps({"wall": clock.wall, "cpu": clock.cpu}))
        if not place.is_dir():  # otherwise another process was faster, with the same result
            beside.rename(place)


@dataclass(frozen=True, eq=False)
class Problem:
    """One set to be clustered.

    Attributes
    ----------
    features : (n, d) float32
    metric : str
        "euclidean" or "chi2".
    n_clusters : int
        The true number, given to every method that needs one.
    stages : Stages
    n_neighbors : int
        K of the neighbourhood graph.
    seed : int
        Seed of all random choices.
    """

    features: NDArray[np.float32]
    metric: str
    n_clusters: int
    stages: Stages
    n_neighbors: int = 20
    seed: int = 0

    def __len__(self) -> int:
        return len(self.features)

    def knn(self, n_neighbors: int | None = None) -> KnnGraph:
        """The K nearest neighbours of each sample, or only the nearest `n_neighbors` of them."""
        space, metric = self.metric_space()

        def compute():
            knn = knn_graph(space, self.n_neighbors, metric=metric)
            return {"indices": knn.indices, "distances": knn.distances}

        found = self.stages.get("knn", compute, searching=True)
        return KnnGraph(found["indices"][:, :n_neighbors], found["distances"][:, :n_neighbors])

    def distances(self) -> NDArray[np.float32]:
        """(n, n) float32, symmetric, zero on the diagonal."""

        def compute():
            if self.metric == "euclidean":
                d = euclidean_distances(self.features)
                np.fill_diagonal(d, 0)
                return {"distances": np.maximum(d, d.T, out=d)}
            return {"distances": chi_square_distances(self.features)}

        return self.stages.get("distances", compute, searching=True)["distances"]

    def metric_space(self) -> tuple[NDArray[np.float32], str]:
        """Samples and their metric, or distances and "precomputed", as `gdl_core` takes them."""
        if self.metric == "euclidean":
            return self.features, self.metric
        return self.distances(), "precomputed"

    def graph(self, bandwidth: float, n_neighbors: int | None = None) -> AffinityGraph:
        """The directed K-NN graph with the weights of Eq. 1; weights too small for float64 give no edge."""
        graph = affinity_graph(self.knn(n_neighbors), bandwidth)
        return graph if graph.weights.all() else AffinityGraph.from_csr(graph.to_csr())

    def symmetric_graph(self, bandwidth: float) -> csr_matrix:
        """(n, n) the graph made undirected, (W + W^T) / 2."""
        w = self.graph(bandwidth).to_csr()
        return ((w + w.T) / 2).tocsr()
