from dataclasses import replace

import numpy as np
import pytest
from planting import bent, geometry, moving, similarity, strangers, together

import gdl_core
from matching.errors import InputError
from matching.grouping.clusters import (
    ClusteringConfig,
    drop_outliers,
    find_above_largest_gap,
    link,
    measure_scores,
)
from matching.grouping.graph import GraphConfig, MatchGraph, build_graph
from matching.settings import METHODS


@pytest.fixture(scope="module")
def planted():
    """Two objects and outliers: Correspondences, the rows of each, and their graph."""
    rng = np.random.default_rng(0)
    c, rows = together(
        moving(rng, 100, similarity(0.4, 1.2), (0, 0), (300, 0), noise=0.5),
        moving(rng, 70, similarity(-0.6, 0.9), (200, 100), (0, 250), noise=0.5),
        strangers(rng, 120),
    )
    return geometry(c), rows, build_graph(geometry(c), 35, GraphConfig())


@pytest.mark.parametrize("method", METHODS)
def test_each_method_finds_planted_objects(planted, method):
    c, (one, two, none), graph = planted
    labels = link(c, graph, ClusteringConfig(method=method)).labels
    assert labels.shape == (290,)
    own = [np.bincount(labels[rows]).argmax() for rows in (one, two)]
    assert own[0] != own[1]
    for rows, label in zip((one, two), own, strict=True):
        assert (labels[rows] == label).mean() > 0.95
    kept = drop_outliers(graph.affinities, labels, 4.0)
    assert (kept[none] < 0).mean() > 0.9
    assert (kept[np.concatenate([one, two])] >= 0).mean() > 0.95


def test_merging_stops_below_the_least_affinity(planted):
    c, _, graph = planted
    initial = gdl_core.initial_clusters(graph.knn, 2, mutual=True)
    for least in (1e-4, 1e-2, 1.0):
        tree = gdl_core.agdl(graph.affinities, initial, 1, n_neighbor_clusters=10)
        labels = link(c, graph, ClusteringConfig(min_affinity=least / 35**2)).labels
        n_merges = tree.n_initial - (labels.max() + 1)
        assert (tree.affinities[:n_merges] >= least).all()
        assert tree.affinities[n_merges] < least


def test_the_target_number_is_a_least_one(planted):
    c, _, graph = planted
    free = link(c, graph, ClusteringConfig()).labels.max() + 1
    for n_clusters in (1, free + 20):
        labels = link(c, graph, ClusteringConfig(n_clusters=n_clusters)).labels
        assert labels.max() + 1 == max(n_clusters, free)


def test_given_clusters_are_merged_only():
    rng = np.random.default_rng(1)
    c = geometry(together(bent(rng, 120), moving(rng, 60, similarity(1.0), (600, 600), (600, 600)))[0])
    graph = build_graph(c, 35, GraphConfig())
    halves = np.where(np.arange(180) < 120, (c.xy0[:, 0] > 100).astype(int), 2)
    labels = link(c, replace(graph, initial=halves), ClusteringConfig()).labels
    assert list(np.unique(labels[:120])) == [0]
    assert list(np.unique(labels[120:])) == [1]


def graph_of(weights):
    return gdl_core.AffinityGraph.from_csr(np.array(weights, float))


def scores_of(weights, clusters, n_neighbors):
    rows = np.arange(len(weights))
    return measure_scores(MatchGraph(rows, None, graph_of(weights)), clusters, n_neighbors)


def test_members_of_small_degree_leave_until_none_is_left():
    # a chain 0 - 1 - 2 hangs on the clique 2, 3, 4, 5; without 0, the degree of 1 falls from 2 to 1
    weights = np.zeros((6, 6))
    weights[2:, 2:] = 1 - np.eye(4)
    for i, j in ((0, 1), (1, 2)):
        weights[i, j] = weights[j, i] = 1
    labels = np.zeros(6, int)
    assert list(drop_outliers(graph_of(weights), labels, 2.0)) == [-1, -1, 0, 0, 0, 0]
    assert list(drop_outliers(graph_of(weights), labels, 1.0)) == [0] * 6
    assert list(drop_outliers(graph_of(weights), labels, 3.5)) == [-1] * 6
    assert list(labels) == [0] * 6


def test_both_degrees_count_and_only_inside_the_own_cluster():
    weights = np.array([[0, 4, 4, 0], [1, 0, 1, 0], [1, 1, 0, 1], [0, 0, 9, 0]])
    # 0: out 8, in 2, mean 4; 1: out 2, in 5; 3 has a cluster of its own
    assert list(drop_outliers(graph_of(weights), np.array([0, 0, 0, 1]), 3.0)) == [0, 0, 0, -1]
    assert list(drop_outliers(graph_of(weights), np.array([0, 0, -1, 1]), 2.1)) == [-1] * 4


def test_scores_are_shares_of_the_edges():
    # K = 2; all four edges of each member of 0, 1, 2 stay inside, of 3, 4 one of two
    weights = np.zeros((5, 5))
    weights[:3, :3] = 1 - np.eye(3)
    weights[3, 4] = weights[4, 3] = weights[3, 0] = weights[4, 0] = 1
    scores = scores_of(weights, [np.arange(3), np.array([3, 4])], 2)
    assert scores == pytest.approx([1.0, 0.5])
    assert scores_of(weights, [np.array([], int), np.arange(3)], 2) == pytest.approx([0, 1])
    assert scores_of(weights, [np.arange(3), np.array([], int)], 2) == pytest.approx([1, 0])
    assert len(scores_of(weights, [], 2)) == 0


@pytest.mark.parametrize(
    ("scores", "kept"),
    [
        ([], []),
        ([0.5], [True]),
        ([0.1, 0.9, 0.8], [False, True, True]),
        ([0.9, 0.5], [True, True]),  # down to 0 it is farther than from one to the other
        ([0.9, 0.4], [True, False]),
        ([0.7, 0.7, 0.7], [True] * 3),
    ],
)
def test_outliers_lie_below_the_largest_gap(scores, kept):
    assert list(find_above_largest_gap(np.array(scores))) == kept


def test_a_method_that_there_is_none_of(planted):
    c, _, graph = planted
    with pytest.raises(InputError, match="method must be one of"):
        link(c, graph, ClusteringConfig(method="kmeans"))
