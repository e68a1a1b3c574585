"""Agreement on altered copies of the suite's sets: jittered, thinned, turned or stretched.

The copies check settings that were chosen on the original sets. Seeds depend on the names of the set and the
change, so that every method gets the same copies.
"""

import zlib
from pathlib import Path

import numpy as np
import scipy
from numpy.typing import NDArray

from eval.clustering.suite import METHODS, Fit, best_ari, installed_methods, read_suite
from gdl_core import GraphDegreeLinkage

CHANGES = ("jitter", "subsample", "rotate", "scale")
NEIGHBOURS = (15, 20, 25, 40)  # K, beside the default


def _with_neighbours(k: int) -> Fit:
    return lambda x, n: GraphDegreeLinkage(
        n, n_neighbors=min(k, max(5, len(x) // 10)), weights="paths"
    ).fit_predict(x)


CHECKED: dict[str, Fit] = {
    **{f"the same, K={k}": _with_neighbours(k) for k in NEIGHBOURS},
    **{name: METHODS[name] for name in ("GraphDegreeLinkage", "spectral", "Genie", "Lumbermark")},
}


def change(kind: str, x: NDArray, labels: NDArray, name: str) -> tuple[NDArray, NDArray]:
    """(X, labels) of a changed copy.

    jitter: each point moves by the median distance of nearest neighbours; subsample: 70 % of the points;
    rotate: 90 % of the points, each moved by half of that distance, and the set turned at random; scale: 80 %
    of the points, with one feature multiplied by 1.5.
    """
    rng = np.random.default_rng([zlib.crc32(name.encode()), zlib.crc32(kind.encode())])
    n, d = x.shape
    if kind == "jitter":
        return _jitter(x, 1.0, rng), labels
    if kind == "subsample":
        kept = np.sort(rng.choice(n, int(0.7 * n), replace=False))
        return x[kept], labels[:, kept]
    if kind == "rotate":
        turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
        kept = np.sort(rng.choice(n, int(0.9 * n), replace=False))
        return (_jitter(x, 0.5, rng) @ turn)[kept], labels[:, kept]
    factor = np.ones(d)
    factor[rng.integers(d)] = 1.5
    kept = np.sort(rng.choice(n, int(0.8 * n), replace=False))
    return (x * factor)[kept], labels[:, kept]


def _jitter(x: NDArray, share: float, rng: np.random.Generator) -> NDArray:
    nearest = scipy.spatial.cKDTree(x).query(x, 2)[0][:, 1]
    return x + rng.normal(size=x.shape) * share * np.median(nearest) / np.sqrt(x.shape[1])


HEAD = ("method", *CHANGES, "all")


def changed_rows(data: Path) -> list[list[str]]:
    """A row with the columns of `HEAD` for each method whose package is installed: mean ARI over the sets."""
    rows = []
    for name, fit in installed_methods(CHECKED).items():
        means = [
            np.mean([best_ari(fit, *change(kind, x, labels, s)) for s, x, labels in read_suite(data)])
            for kind in CHANGES
        ]
        rows.append([name, *(f"{m:.3f}" for m in means), f"{np.mean(means):.3f}"])
    return rows
