"""What the benchmarks of the clusterer share: samples and scores."""

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eval.images.datasets import load

N_BLOBS = 50


def nmi(y: ArrayLike, labels: ArrayLike) -> float:
    """Normalised mutual information, by the geometric mean."""
    from sklearn.metrics import normalized_mutual_info_score

    return float(normalized_mutual_info_score(y, labels, average_method="geometric"))


def blobs(n: int) -> tuple[NDArray[np.float32], NDArray]:
    """Samples (n, 16) of `N_BLOBS` normal distributions, and the distribution of each sample."""
    from sklearn.datasets import make_blobs

    x, y = make_blobs(n, n_features=16, centers=N_BLOBS, cluster_std=2.0, random_state=0)
    return x.astype(np.float32), y


def images(data: Path, name: str) -> tuple[NDArray[np.float32], NDArray]:
    """The pictures of a set as rows of values in [0, 1], and their labels."""
    found = load(name, Path(data) / "clustering")
    return found.images.reshape(len(found), -1) / np.float32(255), found.labels
