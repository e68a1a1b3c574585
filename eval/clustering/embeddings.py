"""70,000 samples of 50 features, like embeddings: time, clusters and agreement, compared with EVoC."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eval.clustering.approximate import shifted_pictures
from eval.clustering.measuring import Clock, nmi
from gdl_core import GraphDegreeLinkage

N_FEATURES = 50
NOISE = 0.1  # of pixels, which are in [0, 1]
HEAD = ("method", "clusters", "labelled", "NMI", "NMI of the labelled", "CPU s")


def embed_pictures(data: Path) -> tuple[NDArray[np.float32], NDArray]:
    """Leading components (70000, 50) of the MNIST test set and its shifted copies, with noise; and the
    digits.
    """
    from sklearn.decomposition import PCA

    x, y = shifted_pictures(data)
    x += np.random.default_rng(0).normal(0, NOISE, x.shape).astype(np.float32)
    components = PCA(N_FEATURES, svd_solver="randomized", random_state=0)
    return components.fit_transform(x).astype(np.float32), y


def embedding_rows(data: Path, jobs: int) -> Iterator[list[str]]:
    """A row with the columns of `HEAD` for the second run of each method; without EVoC if it is missing."""
    x, y = embed_pictures(data)
    methods: dict[str, Callable[[NDArray], NDArray]] = {
        "GraphDegreeLinkage(10)": lambda x: GraphDegreeLinkage(10, n_jobs=jobs).fit_predict(x),
        "GraphDegreeLinkage()": lambda x: GraphDegreeLinkage(n_jobs=jobs).fit_predict(x),
        "EVoC": _evoc,
    }
    for name, fit in methods.items():
        try:
            fit(x)  # compiles; EVoC compiles more for more samples
        except ImportError:
            continue
        clock = Clock()
        labels = fit(x)
        seconds, placed = clock.seconds().cpu, labels >= 0
        scores = (f"{nmi(y[kept], labels[kept]):.3f}" for kept in (np.ones(len(y), bool), placed))
        yield [name, str(labels.max() + 1), f"{placed.mean():.0%}", *scores, f"{seconds:.0f}"]


def _evoc(x: NDArray) -> NDArray:
    import evoc

    return evoc.EVoC(random_state=0).fit_predict(x)
