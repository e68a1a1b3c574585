"""Clusters are cut where two things were joined by a weak seam."""

from dataclasses import replace

import numpy as np
import pytest

from gdl_core import AffinityGraph, KnnGraph, MergeTree
from matching import MatchConfig
from matching.correspondences.correspondences import Correspondences
from matching.grouping.clusters import Clustering
from matching.grouping.graph import MatchGraph
from matching.grouping.merging import are_two_things
from matching.grouping.seams import cut_seams

N = 40  # matches of each of three branches
ONE = np.zeros(3 * N, np.int64)  # the labels of all of them in one cluster


def prepare(turns, affinities, **settings):
    """Three branches beside each other, turned by radians, merged 0 with 1, and with 2.

    Returns the clustering, and what `cut_seams` takes after the labels.
    """
    rng = np.random.default_rng(0)
    xy0 = rng.uniform(0, 150, (3, N, 2)) + np.array([200.0, 0]) * np.arange(3)[:, None, None]
    maps = np.array([[[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]] for a in turns])
    xy1 = np.einsum("kij,knj->kni", maps, xy0) + rng.normal(0, 0.2, xy0.shape)
    own = np.repeat(np.arange(3), N)
    c = Correspondences(xy0.reshape(-1, 2), xy1.reshape(-1, 2), maps[own])
    base = MatchConfig()
    config = replace(base, merging=replace(base.merging, **settings))
    indices = np.array([[i // N * N + (i + k) % N for k in range(1, 6)] for i in range(3 * N)])
    indices.sort(axis=1)
    knn = KnnGraph(indices, np.ones(indices.shape))
    graph = AffinityGraph(np.arange(3 * N + 1) * 5, indices.ravel(), np.ones(indices.size))
    tree = MergeTree(own, np.array([[0, 1], [2, 3]]), np.array(affinities) * 5**2)
    whole = MatchGraph(np.arange(3 * N), knn, graph)

    def are_two(branch, other):
        return are_two_things(c, whole, (branch, other), config.merging_rules)

    n_merges = tree.count_merges(1, min_affinity=config.clustering.min_affinity * 5**2)
    bounds = config.merging.seam * 5**2, config.objects.min_matches, are_two
    return Clustering(ONE, tree, n_merges), bounds


def cut(*args, **options):
    """The labels of the branches, numbered as they come."""
    clustering, bounds = prepare(*args, **options)
    labels = cut_seams(clustering, ONE, *bounds).reshape(3, N)
    assert (labels == labels[:, :1]).all()
    return list(np.unique(labels[:, 0], return_inverse=True)[1])


WEAK, STRONG = 1e-6, 1e-5


@pytest.mark.parametrize(
    ("turns", "affinities", "n_pieces"),
    [
        ((0, 0, 0), (WEAK, WEAK), 1),
        ((0, 0, 0.5), (WEAK, WEAK), 2),  # above: the other two stay together
        ((0, 0, 0.5), (STRONG, WEAK), 2),
        ((0, 0, 0.5), (WEAK, STRONG), 1),  # joined too strongly for a doubt
        ((0, 0.5, 0.5), (WEAK, STRONG), 3),  # what was merged later with both is with neither
    ],
)
def test_branches_are_cut_where_two_maps_explain_them(turns, affinities, n_pieces):
    found = cut(turns, affinities)
    assert len(set(found)) == n_pieces
    assert n_pieces != 2 or found[0] == found[1]


@pytest.mark.parametrize("settings", [{"decisive": 1e9}, {"seam": WEAK / 2}])
def test_evidence_must_be_decisive_and_seam_weak(settings):
    assert len(set(cut((0, 0, 0.5), (WEAK, WEAK), **settings))) == 1


def test_only_members_count_and_others_stay_outside():
    clustering, bounds = prepare((0, 0, 0.5), (WEAK, WEAK))
    labels = ONE.copy()
    labels[2 * N + 11 :] = -1  # eleven are left of branch 2: too few for an object
    assert cut_seams(clustering, labels, *bounds) is labels
    labels[2 * N + 11] = 0
    found = cut_seams(clustering, labels, *bounds)
    assert (found == -1).sum() == N - 12 and len(set(found)) == 3


def test_clusters_of_no_tree_and_merges_that_were_not_made_stay():
    clustering, bounds = prepare((0, 0, 0.5), (WEAK, WEAK))
    assert cut_seams(Clustering(ONE), ONE, *bounds) is ONE
    assert cut_seams(replace(clustering, n_merges=1), ONE, *bounds) is ONE
