"""Agreement on sets that the clusterer was not chosen on.

Its rule and constants were chosen on ten sets of the suite, and on shapes of such kinds drawn with other
seeds.
"""

import importlib
import inspect
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eval.clustering.changed import CHANGES, change
from eval.clustering.shapes import KINDS, draw_shapes
from eval.clustering.suite import METHODS, Fit, Labels, best_ari, installed_methods, read_suite

CHOSEN_ON = (
    "fcps_engytime fcps_lsun graves_fuzzyx graves_zigzag_outliers other_iris sipu_aggregation sipu_s2 "
    "uci_wdbc wut_x2 wut_z3"
)
SEEDS = (211, 212)
COPIES = 2  # of each set and change
N_SAMPLES = 3000  # of USPS and MNIST, drawn with `SAMPLE_SEED`
SAMPLE_SEED = 5
SCIPY = "linalg stats signal optimize sparse special ndimage"
SCIKITS = (
    "sklearn.metrics sklearn.datasets skimage.morphology skimage.filters skimage.transform skimage.measure"
    " networkx.algorithms sklearn.preprocessing sklearn.linear_model"
)
EVOC_FEATURES = 8  # of fewer features, EVoC can't compute its principal components
SURFACES = "brick grass gravel text moon coins"
PHOTOGRAPHS = "astronaut coffee chelsea rocket retina immunohistochemistry hubble_deep_field"
Set = tuple[str, NDArray, NDArray]  # name, X (n, d) and labels (r, n), 0 for noise


def _place_noise(x: NDArray, labels: Labels) -> Labels:
    """Give samples labelled -1 to the cluster of the nearest labelled sample."""
    from sklearn.neighbors import KNeighborsClassifier

    is_placed = labels >= 0
    if is_placed.all() or not is_placed.any():
        return labels
    nearest = KNeighborsClassifier(1).fit(x[is_placed], labels[is_placed])
    return np.where(is_placed, labels, nearest.predict(x))


# These find the number of clusters, and label noise -1.


def _hdbscan(x: NDArray, k: int) -> Labels:
    from sklearn.cluster import HDBSCAN

    return _place_noise(x, HDBSCAN(copy=True).fit_predict(x))


def _fast_hdbscan(x: NDArray, k: int) -> Labels:
    import pynndescent  # noqa: F401  # fast_hdbscan imports it when a set has many features
    from fast_hdbscan import HDBSCAN

    return _place_noise(x, HDBSCAN().fit_predict(x))


def find_by_evoc(x: NDArray, k: int) -> Labels:
    """EVoC's labels, noise included."""
    from evoc import EVoC

    n_missing = max(0, EVOC_FEATURES - x.shape[1])
    padded = np.pad(x.astype(np.float32), ((0, 0), (0, n_missing)))
    return EVoC(random_state=0).fit_predict(padded)


COMPARED: dict[str, Fit] = {
    **{n: METHODS[n] for n in ("GraphDegreeLinkage", "Lumbermark", "Genie", "Ward", "spectral")},
    "HDBSCAN": _hdbscan,
    "fast_hdbscan": _fast_hdbscan,
    "EVoC": lambda x, k: _place_noise(x, find_by_evoc(x, k)),
}


def read_others(data: Path) -> Iterator[Set]:
    """The sets of the suite that are not among `CHOSEN_ON`."""
    return (s for s in read_suite(data) if s[0] not in CHOSEN_ON.split())


def copy_others(data: Path) -> Iterator[Set]:
    """Altered copies of these sets."""
    for name, x, labels in read_others(data):
        for copy in range(COPIES):
            for kind in CHANGES:
                yield f"{name} {kind} {copy}", *change(kind, x, labels, f"{name}{copy}")


def read_origins(data: Path) -> Iterator[Set]:
    """Digits, wines, images, docstrings, textures and colours of photographs."""
    from sklearn.datasets import load_digits, load_wine
    from sklearn.preprocessing import scale

    digits, wines = load_digits(), load_wine()
    five = np.isin(digits.target, (0, 2, 4, 6, 7))
    yield _labelled("digits", digits.data, digits.target)
    yield _labelled("five digits", digits.data[five], digits.target[five])
    yield _labelled("wine", scale(wines.data), wines.target)
    for name, d in (("coil20", 50), ("usps9298", 30), ("mnist_test", 30), ("yaleb", 50)):
        with np.load(data / "clustering" / f"{name}.npz") as z:
            x, y = z["X"].reshape(len(z["X"]), -1), z["y"]
        if name == "yaleb":  # ten faces
            x, y = x[y < np.unique(y)[10]], y[y < np.unique(y)[10]]
        elif name != "coil20":
            kept = np.sort(np.random.default_rng(SAMPLE_SEED).permutation(len(x))[:N_SAMPLES])
            x, y = x[kept], y[kept]
        yield _labelled(name, _components(x, d), y)
    yield _labelled("docstrings of SciPy", *_docstrings([f"scipy.{m}" for m in SCIPY.split()]))
    yield _labelled("docstrings of others", *_docstrings(SCIKITS.split()))
    yield _labelled("textures", *_patches(SURFACES.split(), 32, 250, colours=False))
    yield _labelled("colours", *_patches(PHOTOGRAPHS.split(), 48, 200, colours=True))


def _labelled(name: str, x: NDArray, y: ArrayLike) -> Set:
    return name, x, np.unique(y, return_inverse=True)[1][None] + 1


def _components(x: NDArray, d: int) -> NDArray:
    from sklearn.decomposition import PCA

    return PCA(d, random_state=0).fit_transform(np.asarray(x, float))


def _docstrings(modules: list[str]) -> tuple[NDArray, list[str]]:
    """20 components of TF-IDF of the docstrings of the functions, and their modules."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import normalize

    texts = {}
    for name in modules:
        module = importlib.import_module(name)
        members = [getattr(module, m, None) for m in dir(module) if not m.startswith("_")]
        found = [inspect.getdoc(m) or "" for m in members if callable(m)]
        texts.update({(name, t): re.sub(r"[^A-Za-z ]", " ", t) for t in found if len(t) > 300})
    words = TfidfVectorizer(stop_words="english", min_df=3, sublinear_tf=True).fit_transform(texts.values())
    return normalize(TruncatedSVD(20, random_state=0).fit_transform(words)), [name for name, _ in texts]


def _patches(names: list[str], side: int, n: int, colours: bool) -> tuple[NDArray, NDArray]:
    """Features of n square patches of each photograph, and the photograph: means and deviations of the
    colours, or 15 components of the spectrum.
    """
    import skimage.data

    rng, rows = np.random.default_rng(SAMPLE_SEED), []
    for name in names:
        picture = np.asarray(getattr(skimage.data, name)(), float)
        for _ in range(n):
            i, j = (rng.integers(0, size - side) for size in picture.shape[:2])
            patch = picture[i : i + side, j : j + side]
            if colours:
                rows.append(np.r_[patch.mean((0, 1)), patch.std((0, 1))])
            else:
                spectrum = np.abs(np.fft.rfft2((patch - patch.mean()) / picture.std()))
                rows.append(np.log1p(spectrum).ravel())
    x = np.array(rows) if colours else _components(np.array(rows), 15)
    return x, np.repeat(np.arange(len(names)), n)


def read_groups(data: Path) -> Iterator[tuple[str, list[Set]]]:
    """The name and the sets of each row of the table."""
    yield "the suite, others", list(read_others(data))
    for group in KINDS:
        yield group, list(draw_shapes(group, SEEDS))
    yield "other origin", list(read_origins(data))
    yield "altered copies of the others", list(copy_others(data))


def held_out_rows(groups: Iterable[tuple[str, list[Set]]], methods: dict[str, Fit]) -> tuple[list, list]:
    """Head and rows of mean ARI by group of sets, for the methods whose packages are installed."""
    methods, rows = installed_methods(methods), []
    for group, sets in groups:
        means = [np.mean([best_ari(fit, x, labels) for _, x, labels in sets]) for fit in methods.values()]
        rows.append([f"{group} ({len(sets)})", *(f"{mean:.3f}" for mean in means)])
    return ["sets", *methods], rows
