"""People and strangers: samples that belong to nobody, among clusters of 8 to 40.

A set has the centres of people, drawn from a normal distribution, samples around each centre, and strangers
from a normal distribution around the origin, half as wide as that of the centres, as wide, or twice as wide.
The constants of `gdl_core.strangers` were chosen on sets of even seeds; the tables show odd ones.
"""

from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

from eval.clustering.held_out import find_by_evoc
from eval.clustering.suite import COUNTERS, Fit, Labels, installed_methods
from gdl_core import GraphDegreeLinkage

DIMENSIONS = (16, 32, 64, 128)
WIDTHS = (0.5, 1.0, 2.0)  # of the strangers, over that of the people's centres
SHARES = (0.05, 0.15, 0.3, 0.5)  # of the strangers among all samples
SEEDS = (1, 3)
N_PEOPLE = 60
SIZES = (8, 41)  # samples of a person, from and below
SPREADS = (0.25, 0.4)  # of the samples of a person, over that of the centres
KEPT = 10  # samples of each class that stands for strangers
FAR = 5.0  # of the cut by distance, in spreads


def draw_people(d: int, width: float, share: float, seed: int) -> tuple[NDArray, Labels]:
    """Samples (n, d) in random order, and the person of each, or -1."""
    rng = np.random.default_rng([seed, d, round(10 * width), round(100 * share)])
    y = np.repeat(np.arange(N_PEOPLE), rng.integers(*SIZES, N_PEOPLE))
    spread = rng.uniform(*SPREADS, N_PEOPLE)[y, None]
    people = rng.normal(size=(N_PEOPLE, d))[y] + spread * rng.normal(size=(len(y), d))
    strangers = width * rng.normal(size=(round(len(y) * share / (1 - share)), d))
    order = rng.permutation(len(y) + len(strangers))
    return np.vstack([people, strangers])[order], np.append(y, np.full(len(strangers), -1))[order]


def read_digits() -> Iterator[tuple[str, NDArray, Labels]]:
    """Digits, with `KEPT` samples of each of two classes as strangers."""
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    for a in range(0, 10, 2):
        few = [np.flatnonzero(y == c)[:KEPT] for c in (a, a + 1)]
        kept = np.concatenate([*few, np.flatnonzero((y != a) & (y != a + 1))])
        yield f"digits without {a}, {a + 1}", x[kept], np.where(np.isin(y, (a, a + 1)), -1, y)[kept]


def score(y: Labels, labels: Labels) -> tuple[float, float]:
    """Mean over the people of the best F of a cluster, and the share of strangers labelled -1."""
    best = []
    for person in np.unique(y[y >= 0]):
        found, common = np.unique(labels[(y == person) & (labels >= 0)], return_counts=True)
        total = (y == person).sum() + np.array([(labels == c).sum() for c in found])
        best.append((2 * common / total).max(initial=0.0))
    return float(np.mean(best)), float((labels[y < 0] < 0).mean())


def _cut_by_distance(x: NDArray, k: int) -> Labels:
    """Drop the samples that are far from the third nearest of their cluster: the logarithm is above the
    median by `FAR` times the distance of the lower sixth from the median.
    """
    from sklearn.neighbors import NearestNeighbors

    labels = GraphDegreeLinkage().fit_predict(x)
    for members in [np.flatnonzero(labels == c) for c in range(labels.max() + 1)]:
        nearest = NearestNeighbors(n_neighbors=min(4, len(members))).fit(x[members]).kneighbors(x[members])[0]
        length = np.log(np.maximum(nearest[:, -1], np.finfo(float).tiny))
        low, middle = np.quantile(length, (0.16, 0.5))
        labels[members[length > middle + FAR * (middle - low)]] = -1
    return labels


METHODS: dict[str, Fit] = {
    "GraphDegreeLinkage": lambda x, k: GraphDegreeLinkage(small_clusters="noise").fit_predict(x),
    "the number given": lambda x, k: GraphDegreeLinkage(k, small_clusters="noise").fit_predict(x),
    "cut by distance": _cut_by_distance,
    "HDBSCAN": lambda x, k: COUNTERS["HDBSCAN()"](x),
    "EVoC": find_by_evoc,
}


def stranger_rows(methods: dict[str, Fit]) -> tuple[list[str], list[list[str]]]:
    """Head and rows: F of the people and share of strangers at -1, by width and share of the strangers."""
    methods = installed_methods(methods)
    sets = {
        f"{width:g} times as wide, {share:.0%}": [
            draw_people(d, width, share, seed) for d, seed in product(DIMENSIONS, SEEDS)
        ]
        for width, share in product(WIDTHS, SHARES)
    }
    sets.update({name: [(x, y)] for name, x, y in read_digits()})
    rows = []
    for name, drawn in sets.items():
        scores = [
            np.mean([score(y, fit(x, len(np.unique(y)) - 1)) for x, y in drawn], axis=0)
            for fit in methods.values()
        ]
        rows.append([name, *(f"{f:.3f}, {found:.2f}" for f, found in scores)])
    return ["strangers", *methods], rows
