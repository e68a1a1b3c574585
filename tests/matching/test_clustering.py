import numpy as np
import pytest
from planting import moving, similarity, strangers, together

import gdl_core
from matching.clustering import (
    METHODS,
    ClusteringConfig,
    by_falling_score,
    cluster_correspondences,
    scoring_graph,
    select_objects,
)
from matching.geometry import acc_neighbors

PAPER = ClusteringConfig(mutual_links=False, score_scale=None, min_score=0.0)


@pytest.fixture(scope="module")
def planted():
    """Two objects and strangers: Candidates, the rows of each, the graph of their nearest correspondences."""
    rng = np.random.default_rng(0)
    c, parts = together(
        moving(rng, 100, similarity(0.4, 1.2), (0, 0), (300, 0), noise=0.5),
        moving(rng, 70, similarity(-0.6, 0.9), (200, 100), (0, 250), noise=0.5),
        strangers(rng, 120),
    )
    return c, parts, acc_neighbors(c, 35)


@pytest.mark.parametrize("method", METHODS)
def test_each_method_finds_planted_objects(planted, method):
    c, (one, two, none), knn = planted
    config = ClusteringConfig(method=method, n_clusters=10)
    labels = cluster_correspondences(knn, config)
    assert labels.shape == (290,)
    assert labels.min() >= 0
    scores = gdl_core.connectivity_scores(scoring_graph(c, knn, config), labels)
    kept = select_objects(scores, np.bincount(labels), config)
    final, falling = by_falling_score(labels, scores, kept)
    assert kept.sum() == 2
    assert (np.diff(falling) <= 0).all()
    majorities = [np.bincount(final[rows] + 1).argmax() - 1 for rows in (one, two, none)]
    assert sorted(majorities[:2]) == [0, 1]
    assert majorities[2] == -1
    for rows, label in zip((one, two, none), majorities, strict=True):
        assert (final[rows] == label).mean() > 0.9


def test_merging_stops_at_the_target(planted):
    *_, knn = planted
    for n_clusters in (20, 30):
        labels = cluster_correspondences(knn, ClusteringConfig(n_clusters=n_clusters))
        assert len(np.unique(labels)) == n_clusters


def test_scores_allow_more_where_the_gap_is_wider(planted):
    c, _, knn = planted
    graph = scoring_graph(c, knn, ClusteringConfig(score_scale=12.0, score_slope=0.3)).to_csr()
    for i in (0, 120, 200):
        for j, d in zip(knn.indices[i], knn.distances[i], strict=True):
            gap = max(np.hypot(*(xy[i] - xy[j])) for xy in (c.xy0, c.xy1))
            assert graph[i, j] == pytest.approx(np.exp(-(d**2) / (12.0**2 + (0.3 * gap) ** 2)))
    assert graph.nnz == knn.indices.size


def test_the_papers_scores_use_the_clustering_weights(planted):
    c, _, knn = planted
    paper, merging = scoring_graph(c, knn, PAPER), gdl_core.affinity_graph(knn, PAPER.bandwidth)
    assert np.array_equal(paper.weights, merging.weights)


def selected(scores, sizes=100, config=ClusteringConfig()):
    """Whether each cluster is kept, all of one size or of sizes each."""
    scores = np.array(scores, float)
    return select_objects(scores, np.broadcast_to(sizes, scores.shape), config).tolist()


def test_objects_stand_above_the_largest_gap():
    scores = [1.0, 62.0, 0.0, 55.0, 2.0, 48.0]
    assert selected(scores) == [False, True, False, True, False, True]
    assert selected(scores, config=PAPER) == [False, True, False, True, False, True]


@pytest.mark.parametrize("scores", [[], [0.0], [0.4, 0.3], [0.5] * 8, [19.9]])
def test_low_scores_are_no_objects(scores):
    assert not any(selected(scores))


@pytest.mark.parametrize("scores", [[60.0], [20.0], [60.0, 60.0, 60.0]])
def test_like_scores_are_all_objects(scores):
    assert all(selected(scores))


@pytest.mark.parametrize(
    ("size", "least"),  # 85 % of 2 (n - 1), of 18, 20 and 22; in between 15 and 20
    [(8, 15.0), (9, 15.0), (10, 15.3), (11, 17.0), (12, 18.7), (13, 20.0), (40, 20.0)],
)
def test_few_matches_that_agree_are_an_object(size, least):
    assert selected([least], size) == [True]
    assert selected([least - 0.01], size) == [False]


def test_least_scores_fall_with_the_neighbours():
    config = ClusteringConfig(n_neighbors=7)  # a fifth
    assert selected([4.0], 30, config) == [True]
    assert selected([3.9], 30, config) == [False]
    assert selected([3.1, 2.9], 2, config) == [True, False]


def test_clusters_are_numbered_by_falling_score():
    labels = np.array([0, 1, 2, 3, -1, 1])
    kept = np.array([True, False, True, True])
    final, scores = by_falling_score(labels, np.array([5.0, 9.0, 7.0, 5.0]), kept)
    assert list(final) == [1, -1, 0, 2, -1, -1]  # of equal scores the smaller old label first
    assert list(scores) == [7.0, 5.0, 5.0]


def test_no_cluster_kept():
    final, scores = by_falling_score(np.array([0, 0, -1]), np.array([3.0]), np.array([False]))
    assert list(final) == [-1, -1, -1]
    assert len(scores) == 0
