"""Each rival against its definition, and all of them on clumps that cannot be missed."""

import json

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import ArpackError
from sklearn.cluster import SpectralClustering

from eval.images.baselines import BANDWIDTHS, METHODS, PAPER, spectral
from eval.images.baselines.centres import k_medoids
from eval.images.baselines.directed_spectral import _random_walk, _stationary, directed_embedding
from eval.images.baselines.linkages import average_linkage_between, graph_linkage
from eval.images.baselines.problem import Clock, Problem, Stages
from eval.images.baselines.self_tuning import alignment_cost, alignment_gradient, self_tuning
from eval.images.baselines.spectral import NoConvergence, leading_eigenvectors, ncuts, njw, spectral_embedding
from eval.images.baselines.zell import Z, _Walks, incremental_popularity, transition_matrix, zell
from eval.images.partitions import clustering_error
from gdl_core import GraphDegreeLinkage, affinity_graph, initial_clusters, knn_graph

SIZES = (30, 40, 50)
TRUTH = np.repeat(np.arange(3), SIZES)


def clumps(tmp_path, metric="euclidean", k=8):
    rng = np.random.default_rng(3)
    features = rng.normal(5.0, 0.4, (len(TRUTH), 3)) + 9 * np.eye(3)[TRUTH]
    return Problem(np.abs(features).astype(np.float32), metric, 3, Stages(tmp_path), k)


@pytest.mark.parametrize("metric", ["euclidean", "chi2"])
@pytest.mark.parametrize("name", METHODS)
def test_every_method_finds_clear_clumps(name, metric, tmp_path):
    method = METHODS[name]
    if not method.is_installed():
        pytest.skip(f"needs {method.package[1]}")
    problem = clumps(tmp_path, metric)
    errors = []
    for value in method.values[:3] if method.parameter == "a" else method.values:
        try:
            errors.append(clustering_error(TRUTH, method.run(problem, value)))
        except NoConvergence:
            continue
    assert min(errors) <= (0.02 if name == "dbscan" else 0)  # border samples are noise to it


@pytest.mark.parametrize("name", METHODS)
def test_the_same_seed_gives_the_same_labels(name, tmp_path):
    method = METHODS[name]
    if not method.is_installed():
        pytest.skip(f"needs {method.package[1]}")
    rng = np.random.default_rng(0)
    features = rng.normal(size=(80, 4)).astype(np.float32)
    found = []
    for run in ("first", "second"):
        folder = tmp_path / run
        folder.mkdir()
        problem = Problem(features, "euclidean", 4, Stages(folder), 8)
        found.append(method.run(problem, method.values[0]))
    assert np.array_equal(*found) and found[0].shape == (80,) and found[0].dtype == np.int64


def test_the_papers_methods_and_bandwidths():
    assert len(PAPER) == 10 and set(PAPER) <= set(METHODS)
    assert sorted(np.log10(BANDWIDTHS).round(9).tolist()) == np.arange(-2, 2.1, 0.5).tolist()


@pytest.mark.parametrize(
    ("name", "size", "k"), [("gdl-u", 1, 20), ("agdl", 1, 20), ("gdl-mcs", 5, 20), ("gdl-mcs-10", 5, 10)]
)
def test_ours_is_the_estimator(name, size, k, tmp_path):
    rng = np.random.default_rng(1)
    features = rng.normal(size=(150, 5)).astype(np.float32)
    problem = Problem(features, "euclidean", 6, Stages(tmp_path))
    algorithm = "agdl" if name == "agdl" else "gdl-u"
    model = GraphDegreeLinkage(6, algorithm, n_neighbors=k, min_cluster_size=size).fit(features)
    assert clustering_error(model.labels_, METHODS[name].run(problem, 1.0)) == 0


def test_graph_linkage_joins_the_pair_of_the_largest_average(tmp_path):
    problem = clumps(tmp_path, k=4)
    w = problem.graph(1.0).to_csr().toarray()
    clusters = [np.array([i]) for i in range(len(w))]
    affinity = {
        (i, j): average_linkage_between(w, *map(clusters.__getitem__, (i, j)))
        for i in range(len(w))
        for j in range(i)
    }
    parts = dict(enumerate(clusters))
    while len(parts) > 40:
        a, b = max(affinity, key=lambda pair: (affinity[pair], [-c for c in sorted(pair)]))
        parts[max(parts) + 1] = np.concatenate([parts.pop(a), parts.pop(b)])
        new = max(parts)
        affinity = {p: v for p, v in affinity.items() if a not in p and b not in p}
        affinity |= {(new, c): average_linkage_between(w, parts[new], parts[c]) for c in parts if c != new}
    expected = np.empty(len(w), int)
    for c, members in parts.items():
        expected[members] = c
    many = Problem(problem.features, "euclidean", 40, problem.stages, 4)
    assert clustering_error(expected, graph_linkage(many, 1.0)) == 0


def small_graph(n=60, k=6, seed=0):
    knn = knn_graph(np.random.default_rng(seed).normal(size=(n, 2)), k)
    return knn, affinity_graph(knn)


def test_zells_affinity_is_the_definitions_to_a_thousandth():
    knn, graph = small_graph()
    labels = initial_clusters(knn)
    members = {c: np.flatnonzero(labels == c) for c in range(labels.max() + 1)}
    p, walks = transition_matrix(graph), _Walks(transition_matrix(graph), Z)
    assert np.allclose(p.sum(axis=1), 1)
    for a in members:
        for b in range(a):
            exact = incremental_popularity(p.toarray(), members[a], members[b])
            assert walks.affinity(labels, members, a, b) == pytest.approx(exact, rel=1e-3, abs=1e-12)


def test_zell_merges_the_largest_incremental_popularity_first():
    knn, graph = small_graph(seed=2)
    p, labels = transition_matrix(graph).toarray(), initial_clusters(knn)
    tree = zell(graph, labels, 1)
    for t in range(len(tree.children) - 1):
        now = tree.after(t)
        parts = [np.flatnonzero(now == c) for c in range(now.max() + 1)]
        best = max(incremental_popularity(p, parts[a], parts[b]) for a in range(len(parts)) for b in range(a))
        assert tree.affinities[t] == pytest.approx(best, rel=1e-3)


def test_the_stationary_distribution_and_theta_of_the_directed_walk():
    _, graph = small_graph()
    w = graph.to_csr()
    n = w.shape[0]
    step, jump = _random_walk(w, 0.01)
    walk = step.toarray() + jump[:, None] / n
    assert np.allclose(walk.sum(axis=1), 1)
    pi = _stationary(step, jump)
    np.testing.assert_allclose(pi @ walk, pi, atol=1e-10)
    root = np.sqrt(pi)
    half = root[:, None] * walk / root
    vectors = np.linalg.eigh((half + half.T) / 2)[1][:, :-4:-1]  # the three leading ones
    rows = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    found = directed_embedding(w, 3)
    np.testing.assert_allclose(np.abs(found.T @ rows), np.abs(rows.T @ rows), atol=1e-5)


def test_a_vertex_without_edges_is_left_by_a_jump():
    w = csr_matrix(np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]], float))
    step, jump = _random_walk(w, 0.01)
    np.testing.assert_allclose(
        _stationary(step, jump) @ (step.toarray() + jump[:, None] / 3), _stationary(step, jump), atol=1e-10
    )


def test_spectral_methods_agree_with_scikit_learn_on_clumps(tmp_path):
    s = clumps(tmp_path).symmetric_graph(10.0)
    dense = s.toarray() + 1e-4
    embedding = spectral_embedding(csr_matrix(dense), 3)
    for found in (njw(embedding, 0), ncuts(embedding, 0), self_tuning(embedding, 0)):
        theirs = SpectralClustering(3, affinity="precomputed", assign_labels="discretize", random_state=0)
        assert clustering_error(theirs.fit(dense).labels_, found) == 0


def test_eigenvectors_that_do_not_converge_say_so(monkeypatch):
    def fail(*_, **__):
        raise ArpackError(-1)

    monkeypatch.setattr(spectral, "eigsh", fail)
    monkeypatch.setattr(spectral, "DENSE", 10)
    with pytest.raises(NoConvergence, match="no convergence"):
        leading_eigenvectors(csr_matrix(np.eye(400) / 2), 5, 0)


@pytest.mark.parametrize("few", [0, 20])  # by factorising, by Lanczos with the matrix
@pytest.mark.parametrize("jumps", [False, True])
def test_large_matrices_have_the_eigenvectors_of_small_ones(few, jumps, monkeypatch):
    rng = np.random.default_rng(0)
    matrix = rng.uniform(size=(60, 60)) * (rng.uniform(size=(60, 60)) < 0.2)
    matrix = csr_matrix((matrix + matrix.T) / np.linalg.norm(matrix + matrix.T, 2) * 0.9)
    outer = (rng.uniform(size=60) / 60, rng.uniform(size=60) / 10) if jumps else None
    values, vectors = leading_eigenvectors(matrix, 3, 0, outer)
    full = matrix.toarray() + (0 if outer is None else (np.outer(*outer) + np.outer(*outer[::-1])) / 2)
    np.testing.assert_allclose(full @ vectors, vectors * values, atol=1e-10)
    monkeypatch.setattr(spectral, "DENSE", 10)
    monkeypatch.setattr(spectral, "FEW", few)
    found, found_vectors = leading_eigenvectors(matrix, 3, 0, outer)
    np.testing.assert_allclose(found, values, atol=1e-7)
    np.testing.assert_allclose(np.abs((found_vectors * vectors).sum(axis=0)), 1, atol=1e-6)


def test_each_part_of_a_graph_gives_an_eigenvector():
    blocks = np.kron(np.eye(4), np.ones((100, 100)) - np.eye(100)) * np.repeat([1, 2, 3, 4], 100)[:, None]
    embedding = spectral_embedding(csr_matrix(blocks), 4)
    expected = np.repeat(np.eye(4), 100, axis=0)
    np.testing.assert_allclose(np.abs(embedding @ embedding.T), expected @ expected.T, atol=1e-8)


def test_the_gradient_of_the_alignment_cost():
    rng = np.random.default_rng(0)
    x, rotation = rng.normal(size=(20, 3)), np.linalg.qr(rng.normal(size=(3, 3)))[0]
    gradient, step = alignment_gradient(x, rotation), 1e-6
    for i in range(3):
        for j in range(3):
            change = np.zeros((3, 3))
            change[i, j] = step
            slope = (
                (alignment_cost(x @ (rotation + change)) - alignment_cost(x @ (rotation - change))) / 2 / step
            )
            assert gradient[i, j] == pytest.approx(slope, rel=1e-4)
    assert alignment_cost(np.eye(3)[[0, 1, 1, 2]]) == 4


def test_k_medoids_leaves_nothing_to_improve_in_a_step():
    x = np.random.default_rng(0).normal(size=(60, 2))
    d = np.linalg.norm(x[:, None] - x, axis=2)
    labels = k_medoids(d, 5, seed=0)
    medoids = [
        np.flatnonzero(labels == c)[d[np.ix_(labels == c, labels == c)].sum(0).argmin()] for c in range(5)
    ]
    assert np.array_equal(d[medoids].argmin(axis=0), labels)
    assert sorted(set(k_medoids(np.zeros((4, 4)), 3, seed=0).tolist()))[0] == 0  # equal samples are no error


def test_a_stage_is_computed_once_and_its_seconds_are_passed_on(tmp_path):
    calls = []

    def compute():
        calls.append(1)
        return {"x": np.arange(3)}

    first, second = Stages(tmp_path), Stages(tmp_path)
    assert first.get("a", compute)["x"].tolist() == [0, 1, 2] and first.shared.wall == 0
    (tmp_path / "a" / "seconds.json").write_text(json.dumps({"wall": 2.0, "cpu": 1.0}))
    for _ in range(2):
        second.get("a", compute, searching=True)
    assert len(calls) == 1 and (second.search.wall, second.search.cpu, second.shared.wall) == (2.0, 1.0, 0.0)


def test_a_clock_adds_up():
    clock = Clock(1.0, 1.0)
    with clock:
        pass
    assert clock.wall >= 1.0 and clock.cpu >= 1.0
