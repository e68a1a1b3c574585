"""A public suite of labelled sets: agreement for a given number of clusters, and the number found.

The suite is the benchmark suite for clustering algorithms (version 1). Each file holds X (n, d) and one or
several reference partitions, labels (r, n), in which 0 marks noise, which does not count.
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eval.common.measuring import Clock
from gdl_core import GraphDegreeLinkage

NEIGHBOURS = 20  # of spectral clustering
KINDS = {
    "blobs": "fcps_tetra sipu_a2 sipu_d31 sipu_r15 sipu_s2 sipu_unbalance wut_mk1 wut_mk3 wut_x2",
    "shapes": "fcps_atom fcps_lsun fcps_wingnut graves_parabolic graves_zigzag other_square sipu_aggregation"
    " sipu_jain wut_isolation wut_stripes wut_trapped_lovers wut_windows wut_z3",
    "noise": "graves_ring_noisy graves_zigzag_outliers other_chameleon_t5_8k other_chameleon_t8_8k wut_cross",
    "overlap": "fcps_engytime graves_fuzzyx sipu_s4 wut_olympic wut_z1",
    "measurements": "other_iris uci_glass uci_sonar uci_wdbc uci_yeast",
}
Labels = NDArray[np.int64]
Fit = Callable[[NDArray, int], Labels]


def _ward(x: NDArray, k: int) -> Labels:
    from sklearn.cluster import AgglomerativeClustering

    return AgglomerativeClustering(k).fit_predict(x)


def _k_means(x: NDArray, k: int) -> Labels:
    from sklearn.cluster import KMeans

    return KMeans(k, n_init=10, random_state=0).fit_predict(x)


def _spectral(x: NDArray, k: int) -> Labels:
    from sklearn.cluster import SpectralClustering

    options = {"affinity": "nearest_neighbors", "n_neighbors": NEIGHBOURS, "random_state": 0}
    return SpectralClustering(k, **options).fit_predict(x)


def _genie(x: NDArray, k: int) -> Labels:
    import genieclust

    return genieclust.Genie(n_clusters=k).fit_predict(x)


def _lumbermark(x: NDArray, k: int) -> Labels:
    import lumbermark

    return lumbermark.Lumbermark(n_clusters=k).fit_predict(x)


METHODS: dict[str, Fit] = {
    "GraphDegreeLinkage": lambda x, k: GraphDegreeLinkage(k).fit_predict(x),
    "the paper's rule, K=20": lambda x, k: GraphDegreeLinkage(
        k, n_neighbors=20, min_cluster_size=1
    ).fit_predict(x),
    "k-means": _k_means,
    "Ward": _ward,
    "spectral": _spectral,
    "Genie": _genie,
    "Lumbermark": _lumbermark,
}


def _hdbscan(x: NDArray, size: int) -> Labels:
    from sklearn.cluster import HDBSCAN

    return HDBSCAN(size, copy=True).fit_predict(x)


def _fast_hdbscan(x: NDArray) -> Labels:
    import fast_hdbscan

    return fast_hdbscan.HDBSCAN().fit_predict(x)


def _plscan(x: NDArray) -> Labels:
    import fast_plscan

    return fast_plscan.PLSCAN().fit_predict(x)


COUNTERS: dict[str, Callable[[NDArray], Labels]] = {
    "GraphDegreeLinkage()": lambda x: GraphDegreeLinkage().fit_predict(x),
    "HDBSCAN()": lambda x: _hdbscan(x, 5),
    "HDBSCAN(n / 100)": lambda x: _hdbscan(x, max(5, len(x) // 100)),
    "fast_hdbscan": _fast_hdbscan,
    "PLSCAN": _plscan,
}


def read_suite(data: Path) -> Iterator[tuple[str, NDArray, NDArray]]:
    """Name, X (n, d) and labels (r, n) of each set below ``data/clustering/suite``."""
    for path in sorted((data / "clustering" / "suite").glob("*.npz")):
        with np.load(path) as z:
            yield path.stem, z["X"].astype(np.float64), z["labels"]


def installed_methods(methods: dict[str, Fit]) -> dict[str, Fit]:
    """The methods whose packages are installed; each is compiled. Others are named on standard error."""
    found = {}
    for name, fit in methods.items():
        try:
            fit(np.random.default_rng(0).normal(size=(50, 2)), 2)
            found[name] = fit
        except ImportError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
    return found


def score_methods(
    data: Path, methods: dict[str, Fit]
) -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    """{method: {set: ARI}}, the best ARI over the partitions of each set, and {method: CPU seconds}."""
    scores: dict[str, dict[str, float]] = {}
    seconds: dict[str, float] = {}
    for name, fit in installed_methods(methods).items():
        clock = Clock()
        scores[name] = {s: best_ari(fit, x, labels) for s, x, labels in read_suite(data)}
        seconds[name] = clock.seconds().cpu
    return scores, seconds


def best_ari(fit: Fit, x: NDArray, labels: NDArray) -> float:
    """The largest ARI over the partitions, each with its own number of clusters."""
    from sklearn.metrics import adjusted_rand_score

    best = -1.0
    for k in sorted({int(r.max()) for r in labels}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = fit(x, k)
        for r in labels:
            if r.max() == k:
                best = max(best, float(adjusted_rand_score(r[r > 0], found[r > 0])))
    return best


def kind_rows(scores: dict[str, dict[str, float]], seconds: dict[str, float]) -> tuple[list, list]:
    """Head and rows of mean ARI by kind of set."""
    sets = {
        kind: [n for n in names.split() if n in next(iter(scores.values()))] for kind, names in KINDS.items()
    }
    sets = {kind: names for kind, names in sets.items() if names}
    head = ["method", *(f"{kind} ({len(names)})" for kind, names in sets.items()), "all", "CPU s"]
    rows = [
        [
            name,
            *(f"{np.mean([of[n] for n in names]):.3f}" for names in sets.values()),
            f"{np.mean(list(of.values())):.3f}",
            f"{seconds[name]:.1f}",
        ]
        for name, of in scores.items()
    ]
    return head, rows


COUNT_HEAD = ("method", "right", "within one", "mean factor")


def count_rows(data: Path) -> list[list[str]]:
    """How far the numbers of clusters found are from the nearest of the reference numbers."""
    rows = []
    for name, fit in COUNTERS.items():
        try:
            fit(np.random.default_rng(0).normal(size=(50, 2)))
        except ImportError:
            continue
        off, factor = [], []
        for _, x, labels in read_suite(data):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = max(1, int(fit(x).max()) + 1)
            numbers = [int(r.max()) for r in labels]
            off.append(min(abs(found - k) for k in numbers))
            factor.append(min(abs(np.log(found / k)) for k in numbers))
        right, near = np.mean(np.array(off) == 0), np.mean(np.array(off) <= 1)
        rows.append([name, f"{right:.0%}", f"{near:.0%}", f"{np.exp(np.mean(factor)):.2f}"])
    return rows


def each_rows(scores: dict[str, dict[str, float]]) -> tuple[list, list]:
    """Head and rows of ARI for each set."""
    first = next(iter(scores.values()))
    return ["set", *scores], [[n, *(f"{of[n]:.2f}" for of in scores.values())] for n in first]
