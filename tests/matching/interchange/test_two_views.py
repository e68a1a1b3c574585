"""The static scene of a pair, and its geometry."""

import numpy as np
import pytest

from matching.interchange.two_views import epipolar_error, estimate_two_views, find_static
from matching.output.exchange import Geometry

FOCAL, MIDDLE = 700.0, (320.0, 240.0)


def rotation(angles):
    """(3, 3) of a turn about each axis, radians."""
    x, y, z = angles
    about_x = [[1, 0, 0], [0, np.cos(x), -np.sin(x)], [0, np.sin(x), np.cos(x)]]
    about_y = [[np.cos(y), 0, np.sin(y)], [0, 1, 0], [-np.sin(y), 0, np.cos(y)]]
    about_z = [[np.cos(z), -np.sin(z), 0], [np.sin(z), np.cos(z), 0], [0, 0, 1]]
    return np.array(about_x) @ about_y @ about_z


def seen(points, angles=(0, 0, 0), shift=(0, 0, 0), noise=0.3, seed=0):
    """(n, 2) pixels at which a camera sees points (n, 3)."""
    x = points @ rotation(angles).T + shift
    x = x[:, :2] / x[:, 2:]
    return FOCAL * x + MIDDLE + np.random.default_rng(seed).normal(0, noise, x.shape)


def cloud(n=200, seed=1, flat=False):
    """Points (n, 3) before the camera, in a box or in a plane."""
    rng = np.random.default_rng(seed)
    points = rng.uniform((-2, -1.5, 5), (2, 1.5, 8), (n, 3))
    if flat:
        points[:, 2] = 6 + 0.3 * points[:, 0]
    return points


TURN, SHIFT = (0.3, -0.4, 0.5), (0.8, 0.1, 0.2)  # a wrong focal length shows where it turns


@pytest.mark.parametrize("n", [0, 5, 12, 200])
def test_geometry_is_uncalibrated(n):
    points = cloud(n)
    xy0, xy1 = seen(points, noise=0.0), seen(points, TURN, SHIFT, noise=0.0)
    found = estimate_two_views(xy0, xy1)
    assert found.config == (Geometry.UNCALIBRATED if n == 200 else Geometry.DEGENERATE)
    if n == 200:
        assert epipolar_error(found.fundamental, xy0, xy1).max() < 0.1


def room_and_boxes(n_room=150, n_box=80):
    """Matches of a still room and of two boxes that moved by themselves, and outliers; and what is which."""
    room, rng = cloud(n_room), np.random.default_rng(4)
    boxes = [rng.uniform(-0.5, 0.5, (n_box, 3)) + middle for middle in ((-1.2, 0.5, 4.5), (1.2, 0.5, 4.5))]
    moved = [
        (box - box.mean(axis=0)) @ rotation(turn).T + box.mean(axis=0) + shift
        for box, turn, shift in zip(
            boxes, ((0.1, 0.5, 0.2), (-0.2, -0.4, 0.3)), ((0.3, 0.5, 0.4), (-0.4, -0.5, 0.3)), strict=True
        )
    ]
    xy0 = np.vstack([seen(room), *map(seen, boxes), rng.uniform(0, (640, 480), (60, 2))])
    xy1 = [seen(points, TURN, SHIFT, seed=5) for points in (room, *moved)]
    xy1 = np.vstack([*xy1, rng.uniform(0, (640, 480), (60, 2))])
    return xy0, xy1, np.repeat([0, 1, 2, -1], [n_room, n_box, n_box, 60])


@pytest.mark.parametrize("n_box", [40, 80, 300])
def test_moving_objects_are_not_in_static_scene(n_box):
    """Also where a box has twice as many matches as the room: the room covers more of the pictures."""
    xy0, xy1, body = room_and_boxes(n_box=n_box)
    static = find_static(xy0, xy1, body)
    assert static[body == 0].all()
    assert not static[body > 0].any()
    assert static[body < 0].mean() < 0.2  # what happens to lie near its epipolar line


def test_static_objects_form_one_scene_that_unassigned_matches_join():
    xy0, xy1, body = room_and_boxes()
    room = np.flatnonzero(body == 0)
    cluster = body.copy()
    cluster[room[xy0[room, 0] > 320]] = 3
    cluster[room[::5]] = -1
    static = find_static(xy0, xy1, cluster)
    assert static[body == 0].mean() > 0.98
    assert not static[body > 0].any()


@pytest.mark.parametrize("n", [0, 30])
def test_verified_matches_are_the_scene_if_no_objects_agree(n):
    """Of few matches, or of such as no matrix explains."""
    xy0, xy1, body = room_and_boxes()
    verified = np.arange(len(body)) % 3 == 0
    cluster = np.full(len(body), -1)
    cluster[np.flatnonzero(body < 0)[:n]] = 0
    assert np.array_equal(find_static(xy0, xy1, cluster, verified), verified)


def test_object_of_few_matches_has_no_matrix():
    xy0, xy1, _ = room_and_boxes()
    assert not find_static(xy0[:7], xy1[:7], np.zeros(7, np.int64)).any()
