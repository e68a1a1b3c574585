"""The clusterer as users call it: the rules of scikit-learn, and awkward input."""

import warnings
import weakref

import numpy as np
import pytest
from graphs import same_partition
from scipy.sparse import csr_matrix
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.neighbors import kneighbors_graph
from sklearn.utils.estimator_checks import check_estimator

from gdl_core import GraphDegreeLinkage, affinity_graph, knn_graph, path_graph

RNG = np.random.default_rng(0)
SAMPLES = RNG.normal(size=(120, 3))
BLOBS = np.concatenate([RNG.normal(size=(40, 2)) + 100 * c for c in range(6)])


def fit(x, **parameters):
    return GraphDegreeLinkage(**parameters).fit(x)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "model",
    [GraphDegreeLinkage(), GraphDegreeLinkage(n_clusters=3, algorithm="gdl-u", min_cluster_size=1)],
)
def test_estimator_passes_the_checks_of_scikit_learn(model):
    results = check_estimator(model, on_skip=None)
    assert len(results) > 30


@pytest.mark.parametrize("algorithm", ["gdl", "gdl-u", "agdl"])
def test_fit_sets_all_attributes(algorithm):
    model = fit(SAMPLES, n_clusters=5, algorithm=algorithm)
    assert model.labels_.shape == (120,)
    assert model.labels_.dtype == np.int64
    assert model.n_clusters_ == len(set(model.labels_.tolist())) == 5
    n_initial = model.tree_.n_initial
    assert model.children_.shape == (n_initial - 1, 2)
    assert model.affinities_.shape == (n_initial - 1,)
    assert model.n_features_in_ == 3
    np.testing.assert_array_equal(model.labels_, clone(model).fit_predict(SAMPLES))
    assert model.linkage().shape == (119, 4)


def test_gdl_u_finds_the_partition_of_gdl():
    p, q = fit(SAMPLES, n_clusters=4, algorithm="gdl"), fit(SAMPLES, n_clusters=4, algorithm="gdl-u")
    np.testing.assert_array_equal(p.labels_, q.labels_)
    np.testing.assert_array_equal(p.affinities_, q.affinities_)


@pytest.mark.parametrize("size", [None, 1, 4])
def test_cut_equals_a_fit_with_that_number_of_clusters(size):
    model = fit(SAMPLES, n_clusters=2, min_cluster_size=size)
    for k in range(1, 9):
        np.testing.assert_array_equal(model.cut(k), fit(SAMPLES, n_clusters=k, min_cluster_size=size).labels_)
    with pytest.raises(ValueError, match="n_clusters must be an integer of at least 1, got 0"):
        model.cut(0)


def test_samples_and_their_distances_have_equal_labels():
    direct = fit(SAMPLES, n_clusters=4).labels_
    dense = fit(cdist(SAMPLES, SAMPLES), n_clusters=4, metric="precomputed").labels_
    graph = kneighbors_graph(SAMPLES, 20, mode="distance")
    sparse = fit(graph, n_clusters=4, metric="precomputed").labels_
    np.testing.assert_array_equal(direct, dense)
    np.testing.assert_array_equal(direct, sparse)


def test_sparse_graph_stays_sparse():
    n = 60_000  # dense it would be 29 GB
    rows = np.repeat(np.arange(n), 6)
    columns = (rows + np.tile([-3, -2, -1, 1, 2, 3], n)) % n
    graph = csr_matrix((np.random.default_rng(0).random(6 * n), (rows, columns)), (n, n))
    model = fit(graph, n_clusters=10, n_neighbors=6, metric="precomputed", algorithm="gdl-u")
    assert model.n_clusters_ == 10


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation", "l1"])
def test_results_do_not_depend_on_the_number_of_threads(metric):
    if metric == "euclidean":
        x, _ = make_blobs(3000, n_features=10, centers=30, random_state=0)
    else:
        x = np.random.default_rng(0).poisson(0.3, size=(800, 40)).astype(float)  # many nearly equal distances
        x = x[np.ptp(x, axis=1) > 0]
    fits = [fit(x, n_clusters=30, metric=metric, n_jobs=n_jobs) for n_jobs in (None, 1, 2, 3, -1)]
    for other in fits[1:]:
        np.testing.assert_array_equal(fits[0].labels_, other.labels_)
        np.testing.assert_array_equal(fits[0].affinities_, other.affinities_)


# --- awkward input -----------------------------------------------------------------------------------


def test_one_sample_is_one_cluster():
    with pytest.warns(UserWarning, match="the number of initial clusters is only 1"):
        model = fit([[1.0, 2.0]], n_clusters=2)
    np.testing.assert_array_equal(model.labels_, [0])
    assert model.n_clusters_ == 1
    assert model.children_.shape == (0, 2)
    assert model.linkage().shape == (0, 4)


def test_too_many_neighbours_are_reduced_with_a_warning():
    with pytest.warns(UserWarning, match="n_neighbors=20 is too large for 12 samples: using 11"):
        model = fit(SAMPLES[:12], n_clusters=2, n_neighbors=20)
    assert model.n_clusters_ == 2


@pytest.mark.parametrize(("n", "k"), [(2, 1), (4, 3), (12, 5), (90, 9), (300, 30), (500, 30)])
def test_default_number_of_neighbours_depends_on_the_samples(n, k):
    model = fit(np.random.default_rng(0).normal(size=(n, 2)), n_clusters=1)
    assert len(model.graph_.indices) == n * k


def test_all_neighbours_of_a_given_graph_are_used_by_default():
    graph = kneighbors_graph(SAMPLES, 8, mode="distance")
    assert len(fit(graph, n_clusters=2, metric="precomputed").graph_.indices) == 120 * 8
    indices, distances = graph.indices.reshape(120, 8), graph.data.reshape(120, 8)
    assert len(fit((indices, distances), n_clusters=2, metric="precomputed").graph_.indices) == 120 * 8
    self_pair = np.arange(120)[:, None], np.zeros((120, 1))
    with_self = np.hstack([self_pair[0], indices]), np.hstack([self_pair[1], distances])
    assert len(fit(with_self, n_clusters=2, metric="precomputed").graph_.indices) == 120 * 8


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(
    ("n", "noise"), [(60, 0.0), (100, 0.05), (100, 0.07), (200, 0.1), (1000, 0.1), (2000, 0.12), (5000, 0.1)]
)
def test_two_moons_are_found_without_settings(n, noise, seed):
    x, y = make_moons(n, noise=noise, random_state=seed)
    model = fit(x)
    assert model.n_clusters_ == 2
    assert adjusted_rand_score(y, model.labels_) > (0.99 if noise < 0.1 else 0.9)


@pytest.mark.parametrize("n", [30, 150, 600])
def test_three_blobs_are_found_without_settings(n):
    x, y = make_blobs(n, centers=[[0, 0], [9, 0], [4, 8]], random_state=0)
    assert same_partition(fit(x).labels_, y)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_features", [3, 10, 50, 200])
def test_three_blobs_are_found_in_any_dimension(n_features, seed):
    x, y = make_blobs(150, centers=3, n_features=n_features, random_state=seed)
    model = fit(x)
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(y, model.labels_) > 0.97


def test_ten_digits_are_found():
    x, y = load_digits(return_X_y=True)
    model = fit(x, n_clusters=10)
    assert normalized_mutual_info_score(y, model.labels_) > 0.85


def test_scattered_samples_do_not_count_as_clusters():
    rng = np.random.default_rng(0)
    x = np.concatenate(
        [rng.normal(size=(150, 2)), rng.normal(size=(150, 2)) + 9, rng.uniform(-40, 40, (30, 2))]
    )
    y = np.repeat([0, 1], 150)
    assert same_partition(fit(x, n_clusters=2).labels_[:300], y)


def test_k0_is_lowered_if_initial_clusters_are_too_few():
    with pytest.warns(UserWarning, match="=2 gives fewer initial clusters than n_clusters=60: using 0"):
        model = fit(SAMPLES, n_clusters=60, n_initial_neighbors=2)
    assert model.n_clusters_ == 60


def test_cut_above_the_initial_clusters_names_a_remedy():
    model = fit(SAMPLES, n_clusters=5)
    n_initial = model.tree_.n_initial
    remedy = "; fit with this n_clusters or a smaller n_initial_neighbors"
    with pytest.warns(
        UserWarning, match=f"n_clusters=60: the number of initial clusters is only {n_initial}{remedy}"
    ):
        assert model.cut(60).max() + 1 == n_initial < 60
    for parameters in ({"n_clusters": 60}, {"n_clusters": 5, "n_initial_neighbors": 0}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = fit(SAMPLES, **parameters)
        assert model.cut(60).max() + 1 == 60


@pytest.mark.filterwarnings("ignore:n_initial_neighbors:UserWarning")
def test_more_clusters_than_samples_are_refused_with_a_warning():
    with pytest.warns(UserWarning, match="the number of initial clusters is only 5$"):
        assert fit(SAMPLES[:5], n_clusters=9, n_neighbors=3).n_clusters_ == 5


def test_samples_without_affinity_are_joined_by_distance():
    with pytest.warns(UserWarning, match="n_clusters=3: no positive affinity was left"):
        model = fit(BLOBS, n_clusters=3)
    assert model.n_clusters_ == 3
    blob = np.repeat(np.arange(6), 40)
    assert len(set(zip(blob.tolist(), model.labels_.tolist(), strict=True))) == 6  # no blob is torn apart
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert same_partition(fit(BLOBS, n_clusters=6).labels_, blob)


def test_parts_of_a_sparse_graph_stay_separate():
    graph = kneighbors_graph(BLOBS, 20, mode="distance")
    with pytest.warns(
        UserWarning, match="n_clusters=3: 6 clusters are left: parts of the graph that no edge joins"
    ):
        model = fit(graph, n_clusters=3, metric="precomputed")
    assert model.n_clusters_ == 6


@pytest.mark.filterwarnings("ignore:n_initial_neighbors:UserWarning")
def test_duplicates_share_a_cluster():
    with pytest.warns(UserWarning, match="no positive affinity was left"):
        assert fit(np.ones((100, 2)), n_clusters=3, min_cluster_size=1).n_clusters_ == 3
    groups = np.repeat(np.arange(8), 25)
    assert same_partition(fit(RNG.normal(size=(8, 3))[groups], n_clusters=8).labels_, groups)


def test_algorithms_break_ties_alike():
    grid = np.stack(np.meshgrid(np.arange(9.0), np.arange(9.0)), axis=-1).reshape(-1, 2)
    p, q = (
        fit(grid, n_clusters=5, n_neighbors=8, n_initial_neighbors=0, algorithm=a) for a in ("gdl", "gdl-u")
    )
    np.testing.assert_array_equal(p.children_, q.children_)


def test_row_of_distances_belongs_to_its_sample():
    d = cdist(SAMPLES, SAMPLES)
    d = d * np.random.default_rng(1).uniform(1, 1.5, size=d.shape)
    model = fit(d, n_clusters=4, n_neighbors=6, metric="precomputed")
    nearest = np.argsort(d + np.diag(np.full(len(d), np.inf)), axis=1)[:, :6]
    np.testing.assert_array_equal(model.graph_.indices.reshape(-1, 6), nearest)
    transposed = fit(d.T, n_clusters=4, n_neighbors=6, metric="precomputed")
    assert (transposed.graph_.indices != model.graph_.indices).any()


def test_cut_and_linkage_need_a_fit():
    model = GraphDegreeLinkage(2)
    for call in (lambda: model.cut(2), model.linkage):
        with pytest.raises(NotFittedError):
            call()


def test_one_cluster_holds_all_samples():
    np.testing.assert_array_equal(fit(SAMPLES, n_clusters=1).labels_, np.zeros(120))


def test_number_of_clusters_is_found():
    model = fit(BLOBS, n_clusters=None)
    assert model.n_clusters_ == 6
    assert same_partition(model.labels_, np.repeat(np.arange(6), 40))


@pytest.mark.parametrize("size", [5, 8])
def test_small_clumps_do_not_change_the_number_of_clusters(size):
    x, y = make_blobs(600, centers=4, cluster_std=0.5, random_state=1, center_box=(-40, 40))
    clumps = np.random.default_rng(0).normal(np.repeat([200.0, 300.0, 400.0], 4)[:, None], 0.01, (12, 2))
    x = np.concatenate([x, clumps])
    parameters = {"n_neighbors": 10, "min_cluster_size": size, "small_clusters": "noise"}
    model = fit(x, n_clusters=None, algorithm="gdl-u", **parameters)
    kept = model.labels_[:600] >= 0
    assert kept.sum() >= 590
    assert same_partition(model.labels_[:600][kept], y[kept])
    np.testing.assert_array_equal(model.labels_, model.cut(model.n_clusters_))


def test_min_cluster_size_is_reduced_with_a_warning():
    with pytest.warns(
        UserWarning, match="no cut has that many clusters of at least min_cluster_size samples"
    ):
        assert fit(SAMPLES, n_clusters=20, min_cluster_size=30).n_clusters_ == 20


def test_small_clusters_are_absorbed_or_labelled_noise():
    x = np.concatenate([RNG.normal(size=(60, 2)), RNG.normal(size=(60, 2)) + 12, [[6.0, 6.0], [6.1, 6.0]]])
    parameters = {"n_clusters": 2, "min_cluster_size": 5, "n_neighbors": 10, "n_initial_neighbors": 1}
    assert set(fit(x, **parameters).labels_.tolist()) == {0, 1}
    noise = fit(x, small_clusters="noise", **parameters).labels_
    np.testing.assert_array_equal(noise[-2:], [-1, -1])
    assert set(noise.tolist()) == {-1, 0, 1}


def test_outlier_clusters_are_dropped():
    rng = np.random.default_rng(5)
    dense = np.concatenate([rng.normal(scale=0.3, size=(80, 2)), rng.normal(scale=0.3, size=(80, 2)) + 20])
    x = np.concatenate([dense, rng.uniform(-60, 60, size=(40, 2))])
    model = fit(x, n_clusters=8, drop_outliers=True, n_neighbors=10, min_cluster_size=1)
    assert model.n_clusters_ == 2
    assert (model.labels_[160:] == -1).mean() > 0.6
    assert same_partition(model.labels_[:160], np.repeat([0, 1], 80))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be an integer of at least 1, got 0"),
        ({"n_clusters": 2.5}, "n_clusters must be an integer of at least 1, got 2.5"),
        ({"n_neighbors": 0}, "n_neighbors must be an integer of at least 1, got 0"),
        ({"n_initial_neighbors": -1}, "n_initial_neighbors must be an integer of at least 0, got -1"),
        (
            {"n_neighbors": 20, "n_initial_neighbors": 21},
            "n_initial_neighbors must be at most n_neighbors=20, got 21",
        ),
        ({"n_neighbor_clusters": 0}, "n_neighbor_clusters must be an integer of at least 1, got 0"),
        ({"min_cluster_size": 0}, "min_cluster_size must be an integer of at least 1, got 0"),
        ({"bandwidth": -1.0}, "bandwidth must be a finite number above 0, got -1.0"),
        ({"bandwidth": "local"}, "bandwidth must be a finite number above 0, got 'local'"),
        ({"weights": "path"}, "weights must be one of None, 'paths', 'paper', got 'path'"),
        (
            {"min_cluster_size": "prominent"},
            "min_cluster_size must be an integer of at least 1, got 'prominent'",
        ),
        ({"algorithm": "gdlu"}, "algorithm must be one of 'agdl', 'gdl-u', 'gdl', got 'gdlu'"),
        ({"drop_outliers": "no"}, "drop_outliers must be one of False, True, got 'no'"),
        ({"small_clusters": "drop"}, "small_clusters must be one of 'absorb', 'noise', got 'drop'"),
        ({"search": "fast"}, "search must be"),
        ({"n_jobs": 1.5}, "n_jobs must be an integer, got 1.5"),
        ({"n_jobs": 0}, "n_jobs must not be 0"),
        ({"metric": "seuclidean"}, "metric must be a function or one of .*, got 'seuclidean'"),
        ({"metric": "mahalanobis"}, "metric must be a function or one of .*, got 'mahalanobis'"),
        ({"metric": ["l1"]}, r"metric must be a function or one of .*, got \['l1'\]"),
        ({"metric": "precomputed"}, r"square, got shape \(120, 3\)"),
    ],
)
def test_invalid_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        fit(SAMPLES, **parameters)


def test_distances_are_freed_before_merging(monkeypatch):
    """Otherwise they would be a third of the memory of a fit."""
    found, merge = [], GraphDegreeLinkage._merge

    def search(self, x):
        knn = neighbours(self, x)
        found.append(weakref.ref(knn))
        return knn

    def check_and_merge(self, labels):
        found.append(found[0]() is None)
        return merge(self, labels)

    neighbours = GraphDegreeLinkage._neighbours
    monkeypatch.setattr(GraphDegreeLinkage, "_neighbours", search)
    monkeypatch.setattr(GraphDegreeLinkage, "_merge", check_and_merge)
    GraphDegreeLinkage(1, "gdl-u", n_neighbors=3).fit(np.arange(10.0)[:, None])
    assert found[1]


def test_given_n_neighbors_selects_the_rule_and_the_weights_of_the_paper():
    k = min(30, max(5, len(SAMPLES) // 10))
    same = {"n_clusters": 3, "n_neighbors": k}
    given = fit(SAMPLES, **same)
    np.testing.assert_array_equal(given.graph_.weights, affinity_graph(knn_graph(SAMPLES, k)).weights)
    paper = fit(SAMPLES, n_clusters=3, weights="paper", min_cluster_size=1, bandwidth=1.0)
    np.testing.assert_array_equal(given.labels_, paper.labels_)
    paths = fit(SAMPLES, **same, weights="paths")
    np.testing.assert_array_equal(paths.graph_.weights, path_graph(knn_graph(SAMPLES, k)).weights)
    np.testing.assert_array_equal(paths.labels_, fit(SAMPLES, n_clusters=3).labels_)


def far_clusters(seed):
    """Two to five normal clusters of 15 to 10,000 samples, the nearest 12 standard deviations apart."""
    rng = np.random.default_rng(seed)
    d, n_clusters = int(rng.choice([2, 3, 5, 10, 20, 50])), int(rng.integers(2, 6))
    largest = int(np.exp(rng.uniform(np.log(60), np.log(2000 if seed % 8 else 10_000))))
    smallest = max(15, largest / 300)
    sizes = np.exp(rng.uniform(np.log(smallest), np.log(largest), n_clusters - 1)).astype(int)
    sizes = np.append(sizes, largest)
    centres = [np.zeros(d)]
    while len(centres) < n_clusters:
        way = rng.normal(size=d)
        new = centres[rng.integers(len(centres))] + 12 * way / np.linalg.norm(way)
        if min(np.linalg.norm(new - c) for c in centres) > 11.99:
            centres.append(new)
    y = np.repeat(np.arange(n_clusters), sizes)
    return np.array(centres)[y] + rng.normal(size=(len(y), d)), y


@pytest.mark.parametrize("seed", range(16))
def test_clusters_of_any_sizes_are_found_if_they_are_far_apart(seed):
    x, y = far_clusters(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n_clusters in (int(y.max()) + 1, None):
            labels = fit(x, n_clusters=n_clusters).labels_
            assert adjusted_rand_score(y, labels) > 0.999, (n_clusters, np.bincount(y), np.bincount(labels))


def test_forty_samples_beside_two_thousand_are_a_cluster():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=(2000, 2)), rng.normal([12, 0], 1, (40, 2))])
    for n_clusters in (2, None):
        assert np.bincount(fit(x, n_clusters=n_clusters).labels_).tolist() == [2000, 40]


@pytest.mark.parametrize("n_clusters", [20, 60])
@pytest.mark.parametrize("kind", ["blobs", "normal", "duplicates"])
@pytest.mark.filterwarnings("ignore:n_initial_neighbors:UserWarning")
def test_all_clusters_are_there_and_no_sample_is_noise(kind, n_clusters):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(400, 2)) + (rng.integers(0, 5, (400, 1)) * 30 if kind == "blobs" else 0)
    x = np.round(x, 1) if kind == "duplicates" else x
    labels = fit(x, n_clusters=n_clusters).labels_
    assert set(labels.tolist()) == set(range(n_clusters))
