"""Seconds against the number of samples: ours, the paper's algorithms and common alternatives.

Each method is measured in a separate process, on larger and larger sets of the same blobs, until a run takes
more than `PATIENCE`. There are two kinds of methods: those that merge a given graph, and whole fits.
"""

import math
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eval.clustering.measuring import N_BLOBS, blobs, nmi
from eval.common.measuring import Clock, run_apart
from gdl_core import (
    AffinityGraph,
    GraphDegreeLinkage,
    affinity_graph,
    agdl,
    gdl,
    gdl_u,
    initial_clusters,
    knn_graph,
)

SIZES = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000)
PATIENCE = 5.0  # CPU seconds; the first run that takes longer is a method's last
NEIGHBOURS = 20
WARM = 500  # samples of a run before the measured ones, which compiles
STEEP = 4_000  # samples; growth is fitted from here on, because smaller runs mostly measure the start

MERGING, WHOLE, PAPER = "merging", "whole fit", "published"
COLUMNS = ("method", "kind", "n", "seconds", "nmi")
# Zhang et al., table of the time cost: MATLAB with C++, a 3.2 GHz processor of 2012, real images
PUBLISHED = {
    "GDL-U, authors": {1_440: 0.265, 2_414: 0.731, 7_200: 12.81, 10_000: 35.60, 11_000: 53.64, 12_776: 49.15},
    "AGDL, authors": {1_440: 0.277, 2_414: 0.564, 7_200: 5.530, 10_000: 17.18, 11_000: 29.01, 12_776: 18.62},
}

Prepared = tuple[AffinityGraph, NDArray]


class Method(NamedTuple):
    """Something that clusters samples or their graph."""

    label: str
    kind: str
    run: Callable[..., NDArray]  # from what was prepared and the number of threads to labels
    package: str = ""  # that the method needs
    patient: bool = False  # run up to the largest set: above some size its search is faster


def _leiden(graph: AffinityGraph, seed: int = 0) -> NDArray:
    """leidenalg's modularity communities of the graph, with the weights of both directions added."""
    import leidenalg
    from igraph import Graph

    both = graph.to_csr()
    both = both + both.T
    edges = both.tocoo()
    upper = edges.row < edges.col
    ends = np.stack([edges.row[upper], edges.col[upper]], axis=1)
    network = Graph(n=graph.n_samples, edges=ends)
    found = leidenalg.find_partition(
        network, leidenalg.ModularityVertexPartition, weights=edges.data[upper], seed=seed
    )
    return np.asarray(found.membership)


def _fit_leiden(x: NDArray, jobs: int) -> NDArray:
    return _leiden(affinity_graph(knn_graph(x, NEIGHBOURS, n_jobs=jobs)))


def _fit_hdbscan(x: NDArray, jobs: int) -> NDArray:
    from sklearn.cluster import HDBSCAN

    return HDBSCAN(NEIGHBOURS, n_jobs=jobs, copy=False).fit(x).labels_


def _fit_fast_hdbscan(x: NDArray, jobs: int) -> NDArray:
    from fast_hdbscan import HDBSCAN

    return HDBSCAN(min_cluster_size=NEIGHBOURS).fit(x).labels_


def _fit_average_linkage(x: NDArray, jobs: int) -> NDArray:
    from sklearn.cluster import AgglomerativeClustering
    from sklearn.neighbors import kneighbors_graph

    near = kneighbors_graph(x, NEIGHBOURS, include_self=False, n_jobs=jobs)
    return AgglomerativeClustering(N_BLOBS, linkage="average", connectivity=near).fit(x).labels_


def _fit_spectral(x: NDArray, jobs: int) -> NDArray:
    from sklearn.cluster import SpectralClustering

    options = {"affinity": "nearest_neighbors", "n_neighbors": NEIGHBOURS, "random_state": 0}
    return SpectralClustering(N_BLOBS, n_jobs=jobs, **options).fit(x).labels_


METHODS = {
    "gdl": Method("GDL (Algorithm 1)", MERGING, lambda given, jobs: gdl(*given).cut(N_BLOBS)),
    "gdl-u": Method("GDL-U", MERGING, lambda given, jobs: gdl_u(*given).cut(N_BLOBS)),
    "agdl": Method("AGDL", MERGING, lambda given, jobs: agdl(*given).cut(N_BLOBS)),
    "leiden": Method("Leiden", MERGING, lambda given, jobs: _leiden(given[0]), "leidenalg"),
    "fit-gdl-u": Method(
        "GraphDegreeLinkage",
        WHOLE,
        lambda x, jobs: GraphDegreeLinkage(
            N_BLOBS, "gdl-u", n_neighbors=NEIGHBOURS, min_cluster_size=1, n_jobs=jobs
        ).fit_predict(x),
        patient=True,
    ),
    "fit-hdbscan": Method("HDBSCAN", WHOLE, _fit_hdbscan),
    "fit-fast-hdbscan": Method("fast_hdbscan", WHOLE, _fit_fast_hdbscan, "fast_hdbscan"),
    "fit-leiden": Method("20-NN and Leiden", WHOLE, _fit_leiden, "leidenalg"),
    "fit-average": Method("average linkage", WHOLE, _fit_average_linkage),
    "fit-spectral": Method("spectral", WHOLE, _fit_spectral),
}


def measure_growth(jobs: int, sizes: tuple[int, ...] = SIZES, patience: float = PATIENCE) -> Iterator[dict]:
    """A row of `COLUMNS` for each installed method and each number of samples."""
    for name, method in METHODS.items():
        if method.package and find_spec(method.package) is None:
            continue
        for n, seconds, score in run_apart(measure_method, name, sizes, patience, jobs):
            yield {"method": name, "kind": method.kind, "n": n, "seconds": seconds, "nmi": score}
    for name, times in PUBLISHED.items():
        for n, seconds in times.items():
            yield {"method": name, "kind": PAPER, "n": n, "seconds": seconds, "nmi": math.nan}


def measure_method(
    name: str, sizes: tuple[int, ...], patience: float, jobs: int
) -> list[tuple[int, float, float]]:
    """(n, CPU seconds, NMI) of one run at each number of samples, until a run takes too long."""
    method, rows = METHODS[name], []
    method.run(_prepare(method.kind, blobs(WARM)[0], jobs), jobs)
    for n in sizes:
        x, y = blobs(n)
        given = _prepare(method.kind, x, jobs)
        clock = Clock()
        labels = method.run(given, jobs)
        seconds = clock.seconds().cpu
        rows.append((n, seconds, nmi(y, labels)))
        if seconds > patience and not method.patient:
            break
    return rows


def _prepare(kind: str, x: NDArray, jobs: int) -> Prepared | NDArray:
    """Samples, or their graph and its initial clusters."""
    if kind == WHOLE:
        return x
    knn = knn_graph(x, NEIGHBOURS, n_jobs=jobs)
    return affinity_graph(knn), initial_clusters(knn)


def growth_exponent(curve: list[tuple[float, float]], least: int = STEEP) -> float:
    """The slope of log seconds against log n, from ``least`` samples on if there are at least three such
    points.
    """
    late = [point for point in curve if point[0] >= least]
    n, seconds = np.log(late if len(late) > 2 else curve).T
    return float(np.polyfit(n, seconds, 1)[0])


def curves(rows: list[dict], kind: str) -> dict[str, list[tuple[float, float]]]:
    """(n, seconds) of each method of a kind, by ascending n."""
    found: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        if row["kind"] == kind:
            found.setdefault(row["method"], []).append((row["n"], row["seconds"]))
    return {name: sorted(points) for name, points in found.items()}


def exponent_rows(rows: list[dict]) -> list[list[str]]:
    """A row for each method: kind, largest n, seconds there, the growth exponent, NMI at the largest n."""
    cells = []
    for kind in (MERGING, PAPER, WHOLE):
        for name, points in curves(rows, kind).items():
            n, seconds = points[-1]
            (score,) = (r["nmi"] for r in rows if (r["method"], r["n"]) == (name, n))
            label = METHODS[name].label if name in METHODS else name
            shown = "" if math.isnan(score) else f"{score:.4f}"
            at = f"{dict(points)[8_000]:.3g}" if 8_000 in dict(points) else ""
            cells.append(
                [
                    label,
                    kind,
                    at,
                    f"{n:,.0f}",
                    f"{seconds:.3g}",
                    f"{growth_exponent(points, 0 if kind == PAPER else STEEP):.2f}",
                    shown,
                ]
            )
    return cells


EXPONENT_HEAD = ("method", "what", "s at 8,000", "largest n", "s there", "exponent", "NMI there")
