"""The paper's figures on points in the plane: clusters of three densities under eight methods, and degrees
(Figs. 2 and 3).
"""

import shutil
import warnings
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
from numpy.typing import NDArray

from eval.images.baselines import METHODS
from eval.images.baselines.problem import Problem, Stages
from eval.images.baselines.spectral import NoConvergence
from eval.images.partitions import clustering_error
from gdl_core import affinity_graph, knn_graph
from synth.toys import PointSet, make_crowded

EIGHT = ("link", "single", "complete", "g-link", "affinity-propagation", "njw", "dgsc", "gdl-u")
ALSO = ("stsc", "zell", "hdbscan", "gdl-mcs")
TOY_COLUMNS = ("method", "parameter", "value", "gap", "seed", "ce", "perfect")
DEGREE_GAP = 0.15
DEGREE_COLUMNS = ("case", "quantity", "samples", "mean", "share_nonzero", "correlation")


def measure_toys(names: tuple[str, ...], seeds: range, gaps: tuple[float, ...]) -> list[dict]:
    """Clustering error of each method, value of its parameter, gap and seed on the crowded set.

    "perfect" is an error of 0.
    """
    rows = []
    for gap in gaps:
        for seed in seeds:
            points = make_crowded(seed, gap)
            for name in names:
                for value in toy_values(name):
                    labels = label_toy(points, name, value)
                    rows.append(_measure_toy(points, labels, name, value, gap, seed))
    return rows


def toy_values(name: str) -> tuple[float | None, ...]:
    """The values of a method's parameter; of bandwidths, only those from 0.1 to 10."""
    values = METHODS[name].values
    return tuple(v for v in values if 0.09 < v < 11) if METHODS[name].parameter == "a" else values


def _measure_toy(points, labels, name, value, gap, seed):
    error = 1.0 if labels is None else clustering_error(points.labels, labels)
    return {
        "method": name,
        "parameter": METHODS[name].parameter,
        "value": float("nan") if value is None else value,
        "gap": gap,
        "seed": seed,
        "ce": error,
        "perfect": int(error == 0),
    }


def label_toy(points: PointSet, name: str, value: float | None) -> NDArray[np.int64] | None:
    """(n,) labels of one method on a point set, given its number of clusters; None without convergence."""
    scratch = Path(mkdtemp(prefix="toy-"))
    try:
        features = points.points.astype(np.float32)
        problem = Problem(features, "euclidean", int(points.labels.max()) + 1, Stages(scratch))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return METHODS[name].run(problem, value)
    except NoConvergence:
        return None
    finally:
        shutil.rmtree(scratch)


@dataclass(frozen=True, eq=False)
class Degrees:
    """Average indegree and outdegree of the samples i of one cluster from and to a cluster C (Def. 2), (n,)
    each.

    Only samples with at least one of the two above 0 are kept.
    """

    indegree: NDArray[np.float64]
    outdegree: NDArray[np.float64]

    @property
    def root_product(self) -> NDArray[np.float64]:
        """sqrt(deg^- deg^+), comparable with the degrees themselves."""
        return np.sqrt(self.indegree * self.outdegree)


def degrees(points: PointSet, i: int, c: int, n_neighbors: int = 20, bandwidth: float = 1.0) -> Degrees:
    """Degrees of the samples of true cluster i from and to true cluster c, on the set's K-NN graph."""
    w = affinity_graph(knn_graph(points.points, n_neighbors), bandwidth).to_csr()
    own, other = np.flatnonzero(points.labels == i), np.flatnonzero(points.labels == c)
    indegree = np.asarray(w[other][:, own].sum(axis=0)).ravel() / len(other)
    outdegree = np.asarray(w[own][:, other].sum(axis=1)).ravel() / len(other)
    kept = (indegree > 0) | (outdegree > 0)
    return Degrees(indegree[kept], outdegree[kept])


def pooled_degrees(seeds: range, i: int, c: int) -> Degrees:
    """`degrees` of the crowded set over all seeds."""
    found = [degrees(make_crowded(seed, DEGREE_GAP), i, c) for seed in seeds]
    return Degrees(np.concatenate([d.indegree for d in found]), np.concatenate([d.outdegree for d in found]))


def degree_rows(seeds: range) -> list[dict]:
    """Mean, share above 0 and correlation of the degrees, from the disc to the bar and within the disc.

    Means are in units of the larger of the two mean degrees.
    """
    rows = []
    for case, i, c in (("across", 0, 2), ("within", 0, 0)):
        d = pooled_degrees(seeds, i, c)
        unit = max(d.indegree.mean(), d.outdegree.mean())
        correlation = float(np.corrcoef(d.indegree, d.outdegree)[0, 1])
        for quantity in ("indegree", "outdegree", "root_product"):
            values = getattr(d, quantity)
            found = {"samples": len(values), "share_nonzero": float((values > 0).mean())}
            found |= {"mean": values.mean() / unit, "correlation": correlation}
            rows.append({"case": case, "quantity": quantity, **found})
    return rows
