"""Checks of arguments, and helpers with answers by hand."""

import numpy as np
import pytest

import gdl_core._search.given_graph as given_graph
from gdl_core import (
    AffinityGraph,
    agdl,
    enough_initial_clusters,
    gdl_u,
    initial_clusters,
    knn_graph,
    split_at_largest_gap,
)
from gdl_core._common.checks import check_bandwidth, check_integer, check_integers


@pytest.mark.parametrize("value", [2.0, 2.5, True, "2", None, 1])
def test_values_other_than_integers_of_at_least_the_minimum_are_refused(value):
    with pytest.raises(ValueError, match="k must be an integer of at least 2"):
        check_integer("k", value, 2)
    assert check_integer("k", np.int8(2), 2) == 2


def test_whole_floats_are_accepted_below_2_to_the_53():
    assert check_integers("labels", [2.0**53 - 1, -3.0]).tolist() == [2**53 - 1, -3]
    for wrong in (2.0**53, 0.5, np.nan, np.inf):
        with pytest.raises(ValueError, match="labels must be integers"):
            check_integers("labels", [1.0, wrong])


@pytest.mark.parametrize("bandwidth", [0, -1, np.inf, np.nan, "1"])
def test_bandwidth_must_be_finite_and_positive(bandwidth):
    with pytest.raises(ValueError, match="bandwidth must be"):
        check_bandwidth(bandwidth)
    check_bandwidth(1e-9)


def triangles(*weights):
    """A triangle of vertices for each weight, joined by edges of this weight in both directions."""
    w = np.zeros((3 * len(weights),) * 2)
    for t, weight in enumerate(weights):
        w[3 * t : 3 * t + 3, 3 * t : 3 * t + 3] = weight * (1 - np.eye(3))
    return AffinityGraph.from_csr(w)


def test_merging_separate_parts_stops_at_n_clusters():
    # two vertices joined by w both ways: an affinity of 2 w^2; then a third, 2 w w + 2 (w w / 4 + ...) > it
    graph, labels = triangles(0.5, 1.0), np.arange(6)
    tree = gdl_u(graph, labels, 4)
    assert tree.children.tolist() == [[3, 4], [5, 6]]
    assert tree.affinities[0] == 2.0
    assert len(gdl_u(graph, labels, 1).children) == 4
    assert agdl(graph, labels, 4, n_neighbor_clusters=1).children.tolist() == [[3, 4], [5, 6]]


def test_k0_is_lowered_until_enough_initial_clusters_are_left():
    # pairs of twins in two groups: K0 = 1 joins twins, K0 = 2 a group, K0 = 4 all
    x = np.array([0, 0.1, 1, 1.1, 10, 10.1, 11, 11.1])[:, None]
    knn = knn_graph(x, 4)
    for wanted, k0 in ((1, 4), (2, 3), (4, 1), (8, 0)):
        if k0 < 4:
            with pytest.warns(UserWarning, match=f"using {k0}"):
                labels = enough_initial_clusters(knn, 4, wanted)
        else:
            labels = enough_initial_clusters(knn, 4, wanted)
        assert labels.tolist() == initial_clusters(knn, k0).tolist()
        assert labels.max() + 1 >= wanted


@pytest.mark.parametrize("block", [1, 4, 7, 100])
def test_dense_array_is_read_in_blocks(block, monkeypatch):
    monkeypatch.setattr(given_graph, "BLOCK_ROWS", block)
    x = np.random.default_rng(0).normal(size=(23, 2))
    distances = np.linalg.norm(x[:, None] - x, axis=2)
    found = given_graph.read_dense(distances + 5 * np.eye(23), 6)
    np.fill_diagonal(distances, np.inf)
    assert found.indices.tolist() == np.argsort(distances, axis=1)[:, :6].tolist()
    assert found.distances.tolist() == np.sort(distances, axis=1)[:, :6].tolist()


def test_gap_between_the_highest_scores_wins_ties():
    assert split_at_largest_gap([0, 2, 1]).tolist() == [False, True, False]
    assert split_at_largest_gap([7, 7, 7]).tolist() == [True] * 3
    assert split_at_largest_gap([3, 1]).tolist() == [True, False]


def test_node_sizes_are_integers():
    tree = gdl_u(triangles(1.0), np.arange(3), 1)
    sizes = tree.node_sizes()
    assert sizes.tolist() == [1, 1, 1, 2, 3]
    assert sizes.dtype == np.int64
