"""Rivals and simpler clusterings in place of graph degree linkage."""

from dataclasses import replace

import numpy as np
import pytest
from planted import planted

from eval.matching.ablation.clusterings import CLUSTERINGS, as_step, components_above
from eval.matching.metrics import count_objects, score_matches
from eval.matching.rivals import RIVALS
from eval.matching.synthetic.stages import rival_clustering
from gdl_core import AffinityGraph, KnnGraph
from matching import MatchConfig
from matching.correspondences.correspondences import Correspondences
from matching.grouping.clusters import ClusteringConfig
from matching.grouping.graph import MatchGraph, build_graph
from matching.grouping.group import group
from matching.grouping.groups import label_groups
from matching.grouping.methods import PAIR


def correspondences(seed=0, **numbers):
    candidates, _, instance = planted(seed=seed, **numbers)
    maps = candidates.frames1 @ np.linalg.inv(candidates.frames0)
    return Correspondences(candidates.xy0, candidates.xy1, maps), instance


@pytest.mark.parametrize("name", RIVALS)
def test_a_rival_with_the_stages_finds_planted_objects(name):
    given, instance = correspondences(n_inliers=(160, 160, 160))  # objects of composites are that large
    method = replace(PAIR, cluster=rival_clustering(name))
    labels = label_groups(len(given), group(given, len(given), MatchConfig(), method))
    assert score_matches(labels >= 0, instance >= 0).f > 0.9
    count = count_objects(labels, instance, 3)
    assert (count.found, count.mixed) == (3, 0)


@pytest.fixture(scope="module")
def graphed():
    given, instance = correspondences()
    return given, build_graph(given, 20, MatchConfig().graph), instance


@pytest.mark.parametrize("name", CLUSTERINGS)
def test_clusterings_label_all(name, graphed):
    given, graph, instance = graphed
    labels = CLUSTERINGS[name](given, graph, MatchConfig().clustering)
    assert labels.shape == instance.shape and labels.dtype == np.int64 and labels.min() >= -1
    if name == "one-cluster":
        assert (labels == 0).all()
    else:
        owners = [instance[labels == k] for k in np.unique(labels[labels >= 0])]
        pure = sum(np.bincount(own + 1)[1:].max(initial=0) for own in owners)
        assert pure >= 0.9 * (instance >= 0).sum()


def test_components_are_joined_by_links_both_ways():
    edges = {(0, 1): 0.9, (1, 0): 0.6, (2, 3): 0.9, (3, 2): 0.2, (4, 3): 0.7, (3, 4): 0.7, (4, 0): 0.9}
    indptr = np.searchsorted([a for a, _ in sorted(edges)], np.arange(6))
    target = np.array([b for _, b in sorted(edges)])
    graph = AffinityGraph(indptr, target, np.array([edges[e] for e in sorted(edges)]))
    others = np.array([[1, 2], [0, 2], [0, 1], [0, 1], [0, 1]])
    graph = MatchGraph(np.arange(5), KnnGraph(others, np.zeros((5, 2))), graph)
    above = components_above(0.5)  # the root of 0.9 * 0.2 is 0.42
    assert above(range(5), graph, None).tolist() == [0, 0, 1, 2, 2]
    step = as_step(above)(range(5), graph, None)
    assert step.labels.tolist() == [0, 0, 1, 2, 2] and step.tree is None
    for least, joined in ((0.36, [0, 0, 1, 1, 1]), (0.37, [0, 0, 1, 2, 2])):  # 2 * 0.9 * 0.2 = 0.36
        config = ClusteringConfig(min_affinity=(least - 1e-9) / 2**2)
        labels = CLUSTERINGS["components"](range(5), graph, config)
        assert labels.tolist() == joined
