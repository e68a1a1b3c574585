"""Neighbours from other programs: pairs of arrays, in memory or mapped from files."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.neighbors import NearestNeighbors

from gdl_core import GraphDegreeLinkage, knn_graph

X, Y = make_blobs(300, n_features=3, centers=4, cluster_std=2.0, random_state=0)
DISTANCES, INDICES = NearestNeighbors(n_neighbors=13).fit(X).kneighbors()
WITH_SELF = NearestNeighbors(n_neighbors=13).fit(X).kneighbors(X)[::-1]


@pytest.mark.parametrize("k", [5, 12])
@pytest.mark.parametrize("pair", [(INDICES, DISTANCES), WITH_SELF])
def test_pair_of_arrays_gives_the_searched_graph(pair, k):
    given, searched = knn_graph(pair, k, metric="precomputed"), knn_graph(X, k)
    np.testing.assert_array_equal(given.indices, searched.indices)
    np.testing.assert_allclose(given.distances, searched.distances, rtol=1e-12)


def test_fit_accepts_a_pair_of_arrays():
    model = GraphDegreeLinkage(4, n_neighbors=12, metric="precomputed").fit((INDICES, DISTANCES))
    np.testing.assert_array_equal(model.labels_, GraphDegreeLinkage(4, n_neighbors=12).fit_predict(X))
    assert model.n_features_in_ == 300


def test_pair_may_have_exactly_k_columns():
    pair = INDICES[:, :7].astype(np.uint32), DISTANCES[:, :7].astype(np.float32)
    np.testing.assert_array_equal(knn_graph(pair, 7, metric="precomputed").indices, knn_graph(X, 7).indices)


def test_sample_behind_equal_ones_is_dropped():
    indices = np.array([[1, 0, 2], [0, 1, 2], [1, 0, 2]])
    knn = knn_graph((indices, np.array([[0.0, 0, 1], [0, 0, 1], [1, 1, 2]])), 2, metric="precomputed")
    np.testing.assert_array_equal(knn.indices, [[1, 2], [0, 2], [0, 1]])
    np.testing.assert_array_equal(knn.distances, [[0, 1], [0, 1], [1, 1]])


def with_value(array, row, column, value):
    array = array.copy()
    array[row, column] = value
    return array


@pytest.mark.parametrize(
    ("pair", "k", "message"),
    [
        ((INDICES, DISTANCES[:, :5]), 5, r"equal shapes \(n, m\), got \(300, 13\), \(300, 5\)"),
        ((INDICES[0], DISTANCES[0]), 5, "equal shapes"),
        ((INDICES, DISTANCES), 300, r"n_neighbors must be in \[1, 299\] for 300 samples, got 300"),
        ((INDICES, DISTANCES), 14, "14 neighbours are required for each sample, but row 0 .* only 13"),
        (WITH_SELF, 13, "13 neighbours are required for each sample, but row 0 .* only 12"),
        (
            (with_value(INDICES, 7, 3, -1), DISTANCES),
            5,
            "5 neighbours are required .* but row 7 .* only 5 besides",
        ),
        ((with_value(INDICES, 7, 3, 300), DISTANCES), 5, r"indices must be in \[0, 299\], got 300"),
        ((with_value(INDICES, 7, 3, 2**32), DISTANCES), 5, r"indices must be in \[0, 299\], got 4294967296"),
        ((with_value(INDICES, 7, 3, INDICES[7, 2]), DISTANCES), 5, "row 7 must not hold .* twice"),
        ((INDICES, with_value(DISTANCES, 7, 3, 0.0)), 5, "within a row must not decrease; those of row 7 do"),
        ((INDICES, with_value(DISTANCES, 7, 0, -1.0)), 5, "distances must be >= 0, got -1"),
        ((INDICES, np.full(DISTANCES.shape, np.nan)), 5, "distances must be finite and not negative"),
        ((INDICES + 0.5, DISTANCES), 5, "indices must be integers"),
    ],
)
def test_invalid_pairs_are_refused(pair, k, message):
    with pytest.raises(ValueError, match=message):
        knn_graph(pair, k, metric="precomputed")


def test_pair_needs_the_metric_precomputed():
    with pytest.raises(ValueError, match='needs metric="precomputed"'):
        knn_graph((INDICES, DISTANCES), 5)


FIT_WITH_LITTLE_MEMORY = """
import resource, sys
import numpy as np
from gdl_core import GraphDegreeLinkage
def fit(indices, distances):
    model = GraphDegreeLinkage(3, "gdl-u", n_neighbors=6, metric="precomputed")
    return model.fit((indices, distances))
ring = (np.arange(60)[:, None] + [1, -1, 2, -2, 3, -3]) % 20 + np.arange(60)[:, None] // 20 * 20
fit(ring, np.tile([1.0, 1, 2, 2, 3, 3], (60, 1)))  # loads and compiles
used = int(next(line for line in open("/proc/self/status") if line.startswith("VmData")).split()[1]) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (used + 60 * 2**20,) * 2)
try:
    np.ones(2**24)
except MemoryError:
    print(fit(*(np.load(path, mmap_mode="r") for path in sys.argv[1:])).n_clusters_)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems don't limit private memory alone")
def test_arrays_larger_than_memory_are_read_from_files(tmp_path):
    n, m = 6_000, 3072  # of which the first columns alone are written; the rest are holes in the files
    paths = tmp_path / "indices.npy", tmp_path / "distances.npy"
    indices = np.lib.format.open_memmap(paths[0], "w+", np.int64, (n, m))
    distances = np.lib.format.open_memmap(paths[1], "w+", np.float64, (n, m))
    part = np.arange(n)[:, None] // (n // 3) * (n // 3)
    indices[:, :6] = (np.arange(n)[:, None] + [-1, 1, -2, 2, -3, 3]) % (n // 3) + part
    indices[:, 6] = (indices[:, 5] + 1) % (n // 3) + part[:, 0]
    distances[:, :7] = [1, 1, 2, 2, 3, 3, 4]
    assert indices.nbytes + distances.nbytes > 280 * 2**20
    indices.flush(), distances.flush()
    command = [sys.executable, "-c", FIT_WITH_LITTLE_MEMORY, *map(str, paths)]
    out = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (out.stdout, out.returncode) == ("3\n", 0), out.stderr
