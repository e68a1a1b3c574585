from dataclasses import replace

import numpy as np
import pytest
from planting import bent, candidates, geometry, moving, similarity, strangers, together

from matching import MatchConfig
from matching.correspondences.correspondences import Correspondences
from matching.grouping import group as steps
from matching.grouping.clusters import Clustering, link
from matching.grouping.group import group
from matching.grouping.groups import ObjectsConfig, is_object, label_groups, make_group
from matching.grouping.methods import GIVEN_ALONE, PAIR, Method

DEFAULT = MatchConfig()


def grouped(c, n_listed=None, config=DEFAULT, method=PAIR):
    """The groups of candidates, and the group of each candidate."""
    groups = group(geometry(c), len(c) if n_listed is None else n_listed, config, method)
    return groups, label_groups(len(c), groups)


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
    groups, labels = grouped(c)
    assert sorted(majority(labels, rows) for rows in objects) == [0, 1, 2]
    for rows in objects:
        assert (labels[rows] == majority(labels, rows)).mean() > 0.95
    assert (labels[none] >= 0).mean() < 0.05
    scores = [found.score for found in groups]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)
    assert all(0.3 < score <= 1 for score in scores)


def test_the_order_of_the_images_changes_nothing(scene):
    c, _ = scene
    swapped = candidates(c.xy1, c.xy0, c.frames1, c.frames0)
    assert (grouped(swapped)[1] != grouped(c)[1]).mean() < 0.01


def test_rounds_that_undo_each_other_end(monkeypatch):
    """Every second round finds fewer matches; the larger result stays."""
    found, n_known = [np.arange(20), np.arange(30), np.arange(12)], []

    def find_in_turn(matches, known, *others):
        n_known.append(len(known))
        return [make_group(found[len(n_known) - 1], 0.5, -9.0)]

    monkeypatch.setattr(steps, "group_left_over", find_in_turn)
    (one,), _ = grouped(moving(np.random.default_rng(0), 40, np.eye(2)))
    assert n_known == [0, 1, 1]
    assert one.rows.tolist() == list(range(30))


@pytest.mark.parametrize("seed", range(4))
def test_strangers_have_nothing_in_common(seed):
    assert grouped(strangers(np.random.default_rng(seed), 500))[0] == []


@pytest.mark.parametrize("m", [0, 1, 2, 5, 11, 12, 13, 30])
def test_few_correspondences(m):
    c = moving(np.random.default_rng(1), m, similarity(0.3), size=40.0)
    _, labels = grouped(c)
    assert labels.tolist() == [0 if m >= 12 else -1] * m


def test_all_matches_of_one_object_are_one():
    c = moving(np.random.default_rng(3), 900, similarity(0.2, 1.4), size=700.0, noise=0.5)
    groups, labels = grouped(c)
    assert len(groups) == 1
    assert (labels == 0).mean() > 0.99


def test_a_gap_inside_an_object_is_merged_over():
    """Two dense parts, each with more matches than a match has neighbours: no edge leads across."""
    rng = np.random.default_rng(4)
    c, (left, right, far) = together(
        moving(rng, 200, np.eye(2), start=(0, 0), shift=(500, 0), size=90),
        moving(rng, 200, np.eye(2), start=(145, 0), shift=(645, 0), size=90),
        moving(rng, 200, np.eye(2), start=(600, 0), shift=(1130, 0), size=90),
    )
    _, labels = grouped(c)
    assert majority(labels, left) == majority(labels, right) != majority(labels, far)


def test_matches_of_the_pool_join(scene):
    c, (first, *_) = scene
    hidden = first[::3]
    order = np.concatenate([np.setdiff1d(np.arange(len(c)), hidden), hidden])
    _, labels = grouped(c[order], len(c) - len(hidden))
    own = majority(labels, np.flatnonzero(np.isin(order, first)))
    assert (labels[-len(hidden) :] == own).mean() > 0.9


def test_near_misses_beside_an_object_are_none():
    """A fine pattern gives clusters shifted by a period, on top of the object."""
    rng = np.random.default_rng(5)
    c, (own, shifted, _) = together(
        moving(rng, 300, np.eye(2), shift=(400, 0), noise=0.3),
        moving(rng, 60, np.eye(2), shift=(415, 0), noise=0.3, size=90.0),
        strangers(rng, 200),
    )
    groups, labels = grouped(c)
    assert len(groups) == 1
    assert (labels[own] == 0).mean() > 0.95
    assert (labels[shifted] == 0).mean() < 0.1


def test_objects_that_are_not_significant_leave_where_points_alone_decide(scene):
    """Where none is, the pictures have nothing in common."""
    c, _ = scene
    groups, _ = grouped(c, method=GIVEN_ALONE)
    highest = max(found.log_nfa for found in groups)
    assert highest <= -2
    for max_log_nfa, n_kept in ((highest, len(groups)), (-1000.0, 0)):
        objects = replace(DEFAULT.objects, max_log_nfa=max_log_nfa)
        config = replace(DEFAULT, objects=objects)
        assert len(grouped(c, config=config, method=GIVEN_ALONE)[0]) == n_kept


def test_significance_is_not_measured_where_pixels_decide(scene):
    c, _ = scene
    groups, labels = grouped(c)
    assert len(groups) == 3
    assert all(found.log_nfa is None for found in groups)
    strict = DEFAULT.with_settings(max_log_nfa=-1000.0)
    assert np.array_equal(grouped(c, config=strict)[1], labels)


def test_what_no_other_supports_is_not_clustered(scene):
    c, rows = scene
    seen = []

    def note(correspondences, *others):
        seen.append(correspondences)
        return link(correspondences, *others)

    noting = replace(PAIR, cluster=note)
    grouped(c, method=noting)
    grouped(c, config=DEFAULT.with_settings(min_degree=0.0), method=noting)
    assert len(seen[0]) < len(c)
    clustered = {tuple(xy) for xy in seen[0].xy0}
    assert all(tuple(xy) in clustered for members in rows[:3] for xy in c.xy0[members])
    assert sum(tuple(xy) in clustered for xy in c.xy0[rows[3]]) < 0.5 * len(rows[3])
    assert max(map(len, seen)) == len(c)


def test_matches_of_a_dropped_cluster_join_the_object_around_it():
    c = moving(np.random.default_rng(0), 240, np.eye(2), size=300.0)
    inside = (np.abs(c.xy0 - 150) < 90).all(axis=1) & (np.arange(240) % 2 == 0)
    n_vertices = []

    def find_two(correspondences, graph, config):
        n_vertices.append(len(graph.rows))
        return Clustering(inside[graph.rows].astype(np.int64))

    config = DEFAULT.with_settings(suppression__share=0)  # none but the largest stays
    _, labels = grouped(c, config=config, method=replace(PAIR, cluster=find_two))
    assert n_vertices == [240]  # nothing is left for a second round
    assert (labels == 0).all()


def test_rival_clustering_takes_the_place_of_graph_degree_linkage(scene):
    """Whatever the variant, the other steps stay: clusters of planted rows are refined and tested."""
    c, rows = scene
    truth = np.repeat(np.arange(4), [len(part) for part in rows])

    def know_the_truth(correspondences, graph, config):
        return Clustering(truth[graph.rows])

    groups, labels = grouped(c, method=replace(PAIR, cluster=know_the_truth))
    assert len(groups) == 3
    for part in rows[:3]:
        assert (labels[part] == majority(labels, part)).mean() > 0.95
    assert (labels[rows[3]] >= 0).mean() < 0.05


def test_variants_of_a_method_replace_single_steps(scene):
    c, rows = scene
    nothing_above = replace(PAIR, find_above_gap=lambda scores: np.zeros(len(scores), bool))
    assert grouped(c, method=nothing_above)[0] == []
    first_alone = replace(PAIR, suppress=lambda matches, parts, share, radius: np.array([0]))
    (one,), _ = grouped(c, config=DEFAULT.with_settings(objects__rounds=1), method=first_alone)
    assert np.isin(rows[0], one.rows).mean() > 0.95  # the largest


def test_evidence_is_tested_only_if_the_method_says_so():
    c = moving(np.random.default_rng(0), 60, np.eye(2), shift=(300, 0), size=90.0)
    config = DEFAULT.with_settings(evidence=100.0)  # more than any candidate can have
    assert grouped(c, config=config)[0] == []
    assert len(grouped(c, config=config, method=replace(PAIR, tests_evidence=False))[0]) == 1


def test_rival_group_takes_the_place_of_all_steps():
    def find_first_three(matches, config, ledger):
        ledger.reach("method", np.arange(3, len(matches)))
        return [make_group(np.arange(3), 0.9)]

    c = strangers(np.random.default_rng(0), 30)
    (one,), labels = grouped(c, 20, method=Method(group=find_first_three))
    assert one.rows.tolist() == [0, 1, 2]
    assert np.flatnonzero(labels == 0).tolist() == [0, 1, 2]


def test_objects_of_equal_scores_are_numbered_as_given(monkeypatch):
    scores = np.repeat([0.25, 0.75, 0.5], 100)
    found = [make_group(np.array([k]), score) for k, score in enumerate(scores)]
    monkeypatch.setattr(steps, "group_left_over", lambda *given: found)
    groups, labels = grouped(strangers(np.random.default_rng(0), 301))
    assert np.array_equal(labels, [*range(200, 300), *range(100), *range(100, 200), -1])
    assert (np.diff([one.score for one in groups]) <= 0).all()


@pytest.mark.parametrize(("rounds", "n_found"), [(1, 1), (2, 2), (None, 4)])
def test_what_is_left_over_is_grouped_until_nothing_is_found(rounds, n_found):
    """Each of four things is far from the others; the clustering finds one of them at a time."""
    rng = np.random.default_rng(0)
    corners = np.array([(0, 0), (1000, 0), (0, 1000), (1000, 1000)])
    c, things = together(
        *(moving(rng, 40, np.eye(2), start=at, shift=2 * at + 50, noise=0.3) for at in corners)
    )
    thing = np.repeat(np.arange(4), 40)

    def find_next(correspondences, graph, config):
        left = thing[graph.rows]
        return Clustering(np.where(left == left.min(), 0, -1))

    config = replace(DEFAULT, objects=ObjectsConfig(rounds=rounds))
    groups, labels = grouped(c, config=config, method=replace(PAIR, cluster=find_next))
    assert len(groups) == n_found
    assert all((labels[rows] >= 0).mean() > 0.9 for rows in things[:n_found])


def test_group_needs_its_smallest_number_of_matches():
    xy = np.array([[2.0, 0], [-2, 0], [0, 4], [0, -4]])
    c = Correspondences(xy, xy, np.tile(np.eye(2), (4, 1, 1)))
    assert is_object(c, np.arange(4), ObjectsConfig(min_matches=4))
    assert not is_object(c, np.arange(4), ObjectsConfig(min_matches=5))


@pytest.mark.parametrize(("n", "width", "noise", "is_found"), [
    (80, 30, 0.4, True),  # the spine of a book
    (80, 30, 4.0, False),  # letters of different words: they follow no map to within a pixel
    (80, 4, 0.4, False),  # a line of text: what lies beside it could be anywhere
    (15, 30, 2.0, False),  # few matches
])  # fmt: skip
@pytest.mark.parametrize("zoom", [0.4, 1, 2.5])
def test_narrow_group_is_an_object_if_its_matches_determine_a_map(n, width, noise, is_found, zoom):
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1, (n, 2)) * (600, width) * max(1, 1 / zoom)
    turn = zoom * np.array([[0.6, -0.8], [0.8, 0.6]])
    y = x @ turn.T + rng.normal(0, noise * max(1, zoom), (n, 2))
    c = Correspondences(x, y, np.tile(turn, (n, 1, 1)))
    again = c[np.tile(np.arange(n), 8)]  # places that repeat tell nothing new
    assert is_object(c, np.arange(n), ObjectsConfig()) is is_found
    assert is_object(again, np.arange(8 * n), ObjectsConfig()) is is_found


def test_matches_of_one_place_are_no_object():
    """Half a pixel apart in one image, all over the other one."""
    xy = np.random.default_rng(0).uniform(0, 300, (20, 2))
    c = Correspondences(xy, xy / 600, np.tile(np.eye(2) / 600, (20, 1, 1)))
    config = ObjectsConfig()
    assert not is_object(c, np.arange(20), config)
    assert not is_object(Correspondences(c.xy1, c.xy0, c.inverse_maps), np.arange(20), config)
    assert is_object(Correspondences(xy, xy, c.maps), np.arange(20), config)
