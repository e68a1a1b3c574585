import numpy as np
import pytest
from planting import make_groups

from matching.correspondences.correspondences import Correspondences
from matching.grouping.config import MatchConfig
from matching.grouping.groups import label_groups
from matching.grouping.ledger import Ledger, name_steps
from matching.grouping.planes import PlanesConfig, count_places, find_planes, transfer_errors
from matching.objects.transforms import apply_transform

DEFAULT = MatchConfig()
PLANES, TOLERANCE, OVERLAP = DEFAULT.planes, DEFAULT.graph.scale, DEFAULT.suppression.share
SIDE = np.array([[0.2, 0.05, 60.0], [0.02, 0.9, 20.0], [-3e-4, 1e-4, 1.0]])  # a wall from the side


def find(c, labels, scores, config=PLANES, tolerance=TOLERANCE):
    """The planes of groups, the plane of each match, and the ledger."""
    ledger = Ledger(len(c))
    planes = find_planes(c, make_groups(labels, scores), config, tolerance, OVERLAP, ledger)
    return planes, label_groups(len(c), planes), ledger


def points(n, seed=0):
    return np.random.default_rng(seed).uniform([0, 0], [600, 400], (n, 2))


def correspondences(x, y):
    return Correspondences(x, y, np.broadcast_to(np.diag([0.2, 0.9]), (len(x), 2, 2)).copy())


def test_errors_count_in_the_image_where_they_are_larger():
    x = points(50)
    y = apply_transform(SIDE, x)
    np.testing.assert_allclose(transfer_errors(SIDE, x, y), 0, atol=1e-9)
    moved = y + np.array([0.5, 0])  # 0.5 px there, more than 1.5 in the image where the wall is wide
    assert transfer_errors(SIDE, x, moved).min() > 1.5
    np.testing.assert_allclose(
        transfer_errors(np.linalg.inv(SIDE), moved, x), transfer_errors(SIDE, x, moved)
    )


def test_beyond_the_horizon_errors_are_infinite():
    matrix = np.array([[1, 0, 0], [0, 1, 0], [-0.01, 0, 1.0]])  # x = 100 is its horizon
    x = np.array([[10.0, 10], [20, 50], [50, 20], [150, 20]])
    with np.errstate(divide="ignore"):
        errors = transfer_errors(matrix, x, apply_transform(matrix, x))
    assert np.isinf(errors).tolist() == [False, False, False, True]


def planted(n_wall=120, n_false=40):
    x = points(n_wall + n_false)
    y = apply_transform(SIDE, x)
    y[n_wall:] += np.random.default_rng(3).uniform(15, 60, (n_false, 2))
    return correspondences(x, y), n_wall


def test_a_group_becomes_what_its_plane_explains():
    c, n_wall = planted()
    labels = np.full(len(c), -1)
    labels[:60] = labels[-20:] = 0  # half of the wall, and false ones
    (plane,), *_ = find(c, labels, [0.5])
    assert plane.score == 0.5
    assert np.array_equal(plane.rows, np.arange(n_wall))


@pytest.mark.parametrize(("size", "noise"), [(1, 0.5), (16, 1.0)])
def test_matches_inaccurate_where_the_wall_is_narrow_and_many_false_ones_leave_the_plane(size, noise):
    c, n_wall = planted(200, 100)
    y = c.xy1 + np.random.default_rng(1).normal(0, noise, c.xy1.shape)
    noisy = correspondences(size * c.xy0, size * y)
    (plane,), *_ = find(noisy, np.zeros(300, int), [0.5], tolerance=size * TOLERANCE)
    assert (plane.rows < n_wall).all()
    assert len(plane.rows) > 0.85 * n_wall  # noise there is five times as much and more where it is wide


def test_a_match_that_two_planes_explain_is_of_the_one_with_more_support():
    """The line where two walls meet."""
    line = np.column_stack([np.full(40, 600.0), np.linspace(0, 400, 40)])
    left, right = points(200), points(120, 1) + np.array([640, 0])
    x = np.vstack([left, line, right])
    y = x + np.array([300, 0])
    y[240:, 0] = 900 + 0.5 * (right[:, 0] - 600)
    for labels in ([0] * 240 + [1] * 120, [1] * 240 + [0] * 120):
        _, found, _ = find(correspondences(x, y), labels, [0.4, 0.4])
        assert np.array_equal(found, labels)


def test_few_places_are_no_object():
    c, _ = planted()
    labels = np.where(np.arange(len(c)) < 60, 0, -1)
    planes, found, ledger = find(c, labels, [0.5], PlanesConfig(min_places=200))
    assert planes == []
    steps, (rejected,) = ledger.close(found, c.xy0, c.xy1)
    assert name_steps(steps).tolist() == ["planes"] * 60 + ["candidates"] * (len(c) - 60)
    assert rejected.step == "planes" and 50 < rejected.measure < rejected.bound == 200


def test_many_matches_of_one_small_spot_are_few_places():
    x = 100 + np.random.default_rng(0).uniform(0, 15, (200, 2))
    assert count_places(correspondences(x, x + 50), 8.0) <= 9
    assert count_places(correspondences(x[:0], x[:0]), 8.0) == 0


def test_a_group_without_a_plane_is_no_object():
    x, y = points(80, 0), points(80, 1)
    assert find(correspondences(x, y), np.zeros(80, int), [0.9])[0] == []


@pytest.mark.parametrize(("scores", "stays"), [([0.4, 0.5], 0.4), ([0.2, 0.5], 0.5)])
def test_of_planes_that_overlap_in_an_image_the_one_with_most_support_stays(scores, stays):
    """Support is the number of places (250 and 150) times the score."""
    x = points(400)
    wall, labels = apply_transform(SIDE, x), (np.arange(400) >= 250).astype(int)
    shifted = np.vstack([wall[:250], wall[250:] + np.array([0, 60.0])])  # the same places of picture 0
    (plane,), *_ = find(correspondences(x, shifted), labels, scores)
    assert plane.score == stays
    assert np.array_equal(plane.rows, np.flatnonzero(labels == scores.index(stays)))
    apart = x[250:] + np.array([700, 0])
    c = correspondences(np.vstack([x[:250], apart]), np.vstack([wall[:250], apart * 0.5 + [300, 0]]))
    planes, found, _ = find(c, labels, scores)
    assert [plane.score for plane in planes] == sorted(scores, reverse=True)
    assert (found[:250] == 1).all()
