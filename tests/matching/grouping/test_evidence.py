import numpy as np
import pytest
from planting import candidates, geometry, moving, similarity, strangers, together

from matching._common.threads import limit_threads
from matching.correspondences.correspondences import Correspondences
from matching.grouping.config import MatchConfig
from matching.grouping.evidence import MIN_SUPPORTED, find_mutual, find_supported, has_evidence
from matching.grouping.ledger import Ledger, name_steps

DEGREE = 0.0575  # about as the settings have it


def is_evidence(*given):
    return len(find_supported(*given)) >= MIN_SUPPORTED


def evidence(c):
    return is_evidence(geometry(c), DEGREE, MatchConfig())


@pytest.mark.parametrize("seed", range(4))
def test_strangers_are_no_evidence_and_a_small_object_among_them_is(seed):
    rng = np.random.default_rng(seed)
    none = strangers(rng, 1500)
    assert not evidence(none)
    small = moving(rng, 20, similarity(0.4, 1.3), (100, 50), (300, 200), size=60, noise=1.0)
    assert evidence(together(none, small)[0])
    with limit_threads(3):
        assert evidence(together(none, small)[0])


def test_the_best_correspondence_of_each_point_is_mutual():
    points = np.array([[0, 0], [0, 9], [9, 0], [9, 9]], float)
    joined = np.array([[0, 0], [0, 1], [1, 1], [2, 1], [3, 2], [2, 3]])
    maps = np.tile(np.eye(2), (6, 1, 1))
    c = Correspondences(points[joined[:, 0]], points[joined[:, 1]], maps)
    assert find_mutual(c).tolist() == [0, 4]
    maps[3:] = np.diag([1, -1])
    c = Correspondences(points[joined[:, 0]], points[joined[:, 1]], maps)
    assert find_mutual(c).tolist() == [0, 3, 4]


def test_points_of_many_correspondences_are_no_evidence():
    """As with repeated texture: all of them agree, but all lead to one point."""
    rng = np.random.default_rng(0)
    c = moving(rng, 200, np.eye(2), size=200.0)
    one = candidates(c.xy0, np.tile([[50.0, 50.0]], (200, 1)), c.frames0, c.frames1)
    assert not evidence(one)
    assert evidence(c)


@pytest.mark.parametrize("n", [0, 1, 4, 5])
def test_too_few_are_no_evidence(n):
    c = geometry(moving(np.random.default_rng(0), n, np.eye(2)))
    assert is_evidence(c, DEGREE, MatchConfig()) == (n == 5)


@pytest.mark.parametrize("n", [3, 4])
def test_four_among_strangers_are_evidence(n):
    rng = np.random.default_rng(1)
    few = moving(rng, n, np.eye(2), (200, 200), (300, 300), size=20.0)
    assert evidence(together(few, strangers(rng, 25))[0]) == (n == 4)


def test_neighbours_are_chosen_by_nearness_too():
    rng = np.random.default_rng(0)
    c = geometry(together(moving(rng, 30, np.eye(2), size=600.0), strangers(rng, 600))[0])
    assert is_evidence(c, DEGREE, MatchConfig().with_settings(n_neighbors=10, nearness=0.0))
    assert not is_evidence(
        c, DEGREE, MatchConfig().with_settings(n_neighbors=10, nearness=1e3)
    )  # strangers are nearer


def test_supported_candidates_that_are_too_few_are_dropped_with_their_number():
    rng = np.random.default_rng(1)
    few = moving(rng, 3, np.eye(2), (200, 200), (300, 300), size=20.0)
    c = geometry(together(strangers(rng, 1), few, strangers(rng, 25))[0])
    rows, ledger = np.arange(1, 29), Ledger(29)
    supported = rows[find_supported(c[rows], DEGREE, MatchConfig())]
    assert 0 < len(supported) < 4
    assert not has_evidence(c, rows, MatchConfig(), ledger)
    steps, rejected = ledger.close(np.full(29, -1), c.xy0, c.xy1)
    assert name_steps(steps).tolist() == ["candidates"] + ["evidence"] * 28
    assert [(group.measure, group.bound) for group in rejected] == [(len(supported), 4)]
    assert has_evidence(c, rows, MatchConfig().with_settings(evidence=0.0), Ledger(29))
