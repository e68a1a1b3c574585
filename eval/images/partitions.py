"""How well a partition agrees with the true classes: NMI, clustering error, adjusted Rand index.

`truth` and `labels` are (n,) integer arrays; -1 in `labels` (noise) counts as one more cluster.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix


@dataclass(frozen=True)
class Agreement:
    """`nmi` and `ce` in [0, 1], `ari` in [-0.5, 1], and the number of clusters without the noise."""

    nmi: float
    ce: float
    ari: float
    n_clusters: int


def agreement(truth: ArrayLike, labels: ArrayLike) -> Agreement:
    """All measures of one partition."""
    truth, labels = np.asarray(truth), np.asarray(labels)
    return Agreement(
        nmi(truth, labels),
        clustering_error(truth, labels),
        float(adjusted_rand_score(truth, labels)),
        len(np.unique(labels[labels >= 0])),
    )


def nmi(truth: ArrayLike, labels: ArrayLike) -> float:
    """I(truth; labels) / sqrt(H(truth) H(labels)), normalised by the geometric mean as in the paper.

    >>> round(nmi([0, 0, 1, 1], [0, 0, 1, 2]), 4)  # I = ln 2, H = ln 2 and 1.5 ln 2
    0.8165
    """
    return float(normalized_mutual_info_score(truth, labels, average_method="geometric"))


def clustering_error(truth: ArrayLike, labels: ArrayLike) -> float:
    """CE: the smallest share of samples outside their class, over all one-to-one maps of clusters to classes.

    The best map comes from the Hungarian method; samples of clusters without a class are wrong.

    >>> clustering_error([0, 0, 1, 1], [1, 1, 0, 2])
    0.25
    """
    counts = contingency_matrix(truth, labels)  # (classes, clusters)
    right = counts[linear_sum_assignment(counts, maximize=True)].sum()
    return 1.0 - float(right) / float(counts.sum())
