from dataclasses import replace

import numpy as np
import pytest
from matching.grouping import Correspondences, group, replace_clustering, rounds, stages
from matching.stages import Stage
from planting import bent, candidates, geometry, moving, similarity, strangers, together

from matching import MatchConfig
from matching.core.clusters import cluster_graph
from matching.core.groups import ObjectsConfig, is_object

DEFAULT = MatchConfig()


def grouped(c, n_listed=None, config=DEFAULT, **options):
    return group(geometry(c), len(c) if n_listed is None else n_listed, config, **options)


def majority(labels, rows):
    return int(np.bincount(labels[rows] + 1).argmax()) - 1


@pytest.fixture(scope="module")
def scene():
    """Two objects of which one bends, a copy of the other, and outliers; and the rows of each."""
    rng = np.random.default_rng(0)
    turned = similarity(0.5, 0.8)
    return together(
        bent(rng, 150),
        moving(rng, 90, turned, start=(400, 100), shift=(40, 20), noise=0.5),
        moving(rng, 80, turned, start=(400, 100), shift=(40, 620), noise=0.5),
        strangers(rng, 400),
    )


def test_objects_and_copies_are_found_apart(scene):
    c, (*objects, none) = scene
    found = grouped(c)
    assert len(found.scores) == 3
    assert sorted(majority(found.labels, rows) for rows in objects) == [0, 1, 2]
    for rows in objects:
        assert (found.labels[rows] == majority(found.labels, rows)).mean() > 0.95
    assert (found.labels[none] >= 0).mean() < 0.05
    assert (np.diff(found.scores) <= 0).all()
    assert ((found.scores > 0.3) & (found.scores <= 1)).all()


def test_the_order_of_the_images_changes_nothing(scene):
    c, _ = scene
    swapped = candidates(c.xy1, c.xy0, c.frames1, c.frames0)
    assert (grouped(swapped).labels != grouped(c).labels).mean() < 0.01


def test_rounds_that_undo_each_other_end():
    """Every second round finds fewer matches; the larger result stays."""
    found = [np.arange(20), np.arange(30), np.arange(12)]

    def run(state, context):
        parts = [rounds.Part(found[len(asked) % 3], found[0], 0.5, -9.0)]
        asked.append(len(state.known))
        return replace(state, parts=parts)

    asked = []
    c = moving(np.random.default_rng(0), 40, np.eye(2))
    groups = grouped(c, stages=(Stage("any", run),))
    assert asked == [0, 1, 1]
    assert np.flatnonzero(groups.labels == 0).tolist() == list(range(30))


@pytest.mark.parametrize("seed", range(4))
def test_strangers_have_nothing_in_common(seed):
    found = grouped(strangers(np.random.default_rng(seed), 500))
    assert (found.labels == -1).all()
    assert len(found.scores) == 0


@pytest.mark.parametrize("m", [0, 1, 2, 5, 11, 12, 13, 30])
def test_few_correspondences(m):
    c = moving(np.random.default_rng(1), m, similarity(0.3), size=40.0)
    found = grouped(c)
    assert found.labels.shape == (m,)
    assert (found.labels == (0 if m >= 12 else -1)).all()


def test_all_matches_of_one_object_are_one():
    found = grouped(moving(np.random.default_rng(3), 900, similarity(0.2, 1.4), size=700.0, noise=0.5))
    assert len(found.scores) == 1
    assert (found.labels == 0).mean() > 0.99


def test_a_gap_inside_an_object_is_merged_over():
    """Two dense parts, each with more matches than a match has neighbours: no edge leads across."""
    rng = np.random.default_rng(4)
    c, (left, right, far) = together(
        moving(rng, 200, np.eye(2), start=(0, 0), shift=(500, 0), size=90),
        moving(rng, 200, np.eye(2), start=(145, 0), shift=(645, 0), size=90),
        moving(rng, 200, np.eye(2), start=(600, 0), shift=(1100, 0), size=90),
    )
    labels = grouped(c).labels
    assert majority(labels, left) == majority(labels, right) != majority(labels, far)
    apart = grouped(c, config=replace(DEFAULT, objects=replace(DEFAULT.objects, gap=30.0)))
    assert len(apart.scores) == 3


def test_matches_of_the_pool_join(scene):
    c, (first, *_) = scene
    hidden = first[::3]
    order = np.concatenate([np.setdiff1d(np.arange(len(c)), hidden), hidden])
    found = grouped(c[order], len(c) - len(hidden))
    own = majority(found.labels, np.flatnonzero(np.isin(order, first)))
    assert (found.labels[-len(hidden) :] == own).mean() > 0.9


def test_near_misses_beside_an_object_are_none():
    """A fine pattern gives clusters shifted by a period, on top of the object."""
    rng = np.random.default_rng(5)
    c, (own, shifted, _) = together(
        moving(rng, 300, np.eye(2), shift=(400, 0), noise=0.3),
        moving(rng, 60, np.eye(2), shift=(415, 0), noise=0.3, size=90.0),
        strangers(rng, 200),
    )
    found = grouped(c)
    assert len(found.scores) == 1
    assert (found.labels[own] == 0).mean() > 0.95
    assert (found.labels[shifted] == 0).mean() < 0.1


def test_objects_that_are_not_significant_leave(scene):
    """Where none is, the pictures have nothing in common."""
    c, _ = scene
    found = grouped(c)
    assert (found.log_nfa <= -2).all()
    for most, kept in ((found.log_nfa.max(), len(found.scores)), (-1000.0, 0)):
        objects = replace(DEFAULT.objects, max_log_nfa=float(most))
        assert len(grouped(c, config=replace(DEFAULT, objects=objects)).scores) == kept


def test_what_no_other_supports_is_not_clustered(scene):
    c, rows = scene
    seen = []

    def note(correspondences, *others):
        seen.append(correspondences)
        return cluster_graph(correspondences, *others)

    grouped(c, stages=replace_clustering(note))
    grouped(c, config=DEFAULT.with_settings(min_degree=0.0), stages=replace_clustering(note))
    assert len(seen[0]) < len(c)
    clustered = {tuple(xy) for xy in seen[0].xy0}
    assert all(tuple(xy) in clustered for members in rows[:3] for xy in c.xy0[members])
    assert sum(tuple(xy) in clustered for xy in c.xy0[rows[3]]) < 0.5 * len(rows[3])
    assert max(map(len, seen)) == len(c)


def test_matches_of_a_dropped_cluster_join_the_object_around_it():
    c = moving(np.random.default_rng(0), 240, np.eye(2), size=300.0)
    inside = (np.abs(c.xy0 - 150) < 90).all(axis=1) & (np.arange(240) % 2 == 0)
    seen = []

    def two_clusters(correspondences, knn, graph, initial, config):
        seen.append(initial)
        return inside.astype(np.int64) if initial is None else initial

    config = DEFAULT.with_settings(suppression__share=0)  # none but the largest stays
    found = grouped(c, config=config, stages=replace_clustering(two_clusters))
    assert len(seen) == 1  # one part is left, and nothing to merge
    assert (found.labels == 0).all()


def part(members, score):
    return rounds.Part(np.asarray(members), np.asarray(members[:0]), score)


def test_objects_of_equal_scores_are_numbered_as_given():
    scores = np.repeat([0.25, 0.75, 0.5], 100)
    groups = rounds.number_by_score(301, [part([k], score) for k, score in enumerate(scores)])
    assert np.array_equal(groups.labels, [*range(200, 300), *range(100), *range(100, 200), -1])
    assert (np.diff(groups.scores) <= 0).all()


@pytest.mark.parametrize(("rounds", "n_found"), [(1, 1), (2, 2), (None, 4)])
def test_what_is_left_over_is_grouped_until_nothing_is_found(rounds, n_found):
    xy = np.random.default_rng(0).uniform(0, 1e4, (80, 2))
    c = Correspondences(xy, xy, np.tile(np.eye(2), (80, 1, 1)))

    def find_next(state, context):  # 20 matches a round: next to them, larger objects hide smaller ones
        n = len(state.known)
        found = [part(np.arange(20) + 20 * n, 0.8)]
        return replace(state, parts=found) if n < 4 else None

    one_by_one = (Stage("next", find_next), *stages.DEFAULT[-3:])
    config = replace(MatchConfig(), objects=ObjectsConfig(rounds=rounds))
    assert len(group(c, 80, config, stages=one_by_one).scores) == n_found


def test_as_many_and_as_wide_as_is_asked_for_is_an_object():
    xy = np.array([[2.0, 0], [-2, 0], [0, 4], [0, -4]])  # half as wide as long
    c = Correspondences(xy, xy, np.tile(np.eye(2), (4, 1, 1)))
    for min_matches, min_width in ((4, 0.5), (5, 0.5), (4, 0.51)):
        config = ObjectsConfig(min_matches=min_matches, min_width=min_width)
        assert is_object(c, np.arange(4), config) == ((min_matches, min_width) == (4, 0.5))


def test_matches_of_one_place_are_no_object():
    """Half a pixel apart in one image, all over the other one."""
    xy = np.random.default_rng(0).uniform(0, 300, (20, 2))
    c = Correspondences(xy, xy / 600, np.tile(np.eye(2) / 600, (20, 1, 1)))
    config = ObjectsConfig()
    assert not is_object(c, np.arange(20), config)
    assert not is_object(Correspondences(c.xy1, c.xy0, c.inverse_maps), np.arange(20), config)
    assert is_object(Correspondences(xy, xy, c.maps), np.arange(20), config)
