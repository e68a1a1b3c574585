"""The static scene of a pair, and COLMAP's configuration of it, of which pycolmap is the referee."""

import math

import numpy as np
import pytest

from matching.interchange.two_views import (
    Camera,
    epipolar_error,
    estimate_two_views,
    find_static,
    is_wider,
    measure_significance,
)
from matching.output.exchange import Geometry

FOCAL, MIDDLE = 700.0, (320.0, 240.0)


def rotation(angles):
    """(3, 3) of a turn about each axis, radians."""
    x, y, z = angles
    about_x = [[1, 0, 0], [0, np.cos(x), -np.sin(x)], [0, np.sin(x), np.cos(x)]]
    about_y = [[np.cos(y), 0, np.sin(y)], [0, 1, 0], [-np.sin(y), 0, np.cos(y)]]
    about_z = [[np.cos(z), -np.sin(z), 0], [np.sin(z), np.cos(z), 0], [0, 0, 1]]
    return np.array(about_x) @ about_y @ about_z


def seen(points, angles=(0, 0, 0), shift=(0, 0, 0), distortion=0.0, noise=0.3, seed=0):
    """(n, 2) pixels at which a camera sees points (n, 3)."""
    x = points @ rotation(angles).T + shift
    x = x[:, :2] / x[:, 2:]
    x = x * (1 + distortion * (x**2).sum(axis=1, keepdims=True))
    return FOCAL * x + MIDDLE + np.random.default_rng(seed).normal(0, noise, x.shape)


def cloud(n=200, seed=1, flat=False):
    """Points (n, 3) before the camera, in a box or in a plane."""
    rng = np.random.default_rng(seed)
    points = rng.uniform((-2, -1.5, 5), (2, 1.5, 8), (n, 3))
    if flat:
        points[:, 2] = 6 + 0.3 * points[:, 0]
    return points


TURN, SHIFT = (0.3, -0.4, 0.5), (0.8, 0.1, 0.2)  # a wrong focal length shows where it turns
SCENES = {
    "general": (cloud(), SHIFT),
    "plane": (cloud(flat=True), SHIFT),
    "turned only": (cloud(), (0.0, 0.0, 0.0)),
    "few": (cloud(12), SHIFT),
}


@pytest.mark.parametrize("prior", [False, True])
@pytest.mark.parametrize("focal", [FOCAL, 0.4 * FOCAL])
@pytest.mark.parametrize("name", SCENES)
def test_the_configuration_is_the_one_that_pycolmap_chooses(name, focal, prior):
    pycolmap = pytest.importorskip("pycolmap")
    points, shift = SCENES[name]
    xy0, xy1 = seen(points), seen(points, TURN, shift, seed=2)
    rng = np.random.default_rng(3)
    xy0, xy1 = (np.vstack([xy, rng.uniform(0, (640, 480), (len(xy) // 4, 2))]) for xy in (xy0, xy1))
    theirs = pycolmap.Camera.create_from_model_name(1, "SIMPLE_RADIAL", focal, 640, 480)
    theirs.has_prior_focal_length = prior
    rows = np.repeat(np.arange(len(xy0), dtype=np.uint32)[:, None], 2, axis=1)
    told = pycolmap.estimate_two_view_geometry(theirs, xy0, theirs, xy1, rows)
    ours = Camera(2, (focal, *MIDDLE, 0.0), prior)
    found = estimate_two_views(xy0, xy1, (ours, ours))
    assert found.config == int(told.config)
    expected = Geometry.CALIBRATED if prior and focal == FOCAL else Geometry.UNCALIBRATED
    kinds = {"general": expected, "few": Geometry.DEGENERATE}
    assert found.config == kinds.get(name, Geometry.PLANAR_OR_PANORAMIC)


def test_the_matrices_are_those_of_the_motion():
    points = cloud()
    xy0, xy1 = seen(points, noise=0.0), seen(points, TURN, SHIFT, noise=0.0)
    camera = Camera(1, (FOCAL, FOCAL, *MIDDLE), True)
    found = estimate_two_views(xy0, xy1, (camera, camera))
    x, y, z = SHIFT
    true = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]) @ rotation(TURN)
    cosine = (true * found.essential).sum() / np.linalg.norm(true) / np.linalg.norm(found.essential)
    assert abs(cosine) > 0.9999
    lens = np.array([[FOCAL, 0, MIDDLE[0]], [0, FOCAL, MIDDLE[1]], [0, 0, 1]])
    assert epipolar_error(found.fundamental, xy0, xy1).max() < 0.1
    assert epipolar_error(np.linalg.inv(lens).T @ true @ np.linalg.inv(lens), xy0, xy1).max() < 1e-6


def test_the_lens_counts():
    """Without its distortion, 0.6, the camera's matches fit no essential matrix."""
    points = cloud(400)
    xy0, xy1 = (seen(points, *pose, distortion=0.6) for pose in ((), (TURN, SHIFT)))
    configs = {}
    for k in (0.6, 0.0):
        camera = Camera(2, (FOCAL, *MIDDLE, k), True)
        configs[k] = estimate_two_views(xy0, xy1, (camera, camera)).config
    assert configs == {0.6: Geometry.CALIBRATED, 0.0: Geometry.UNCALIBRATED}


@pytest.mark.parametrize(
    "camera",
    [
        Camera(0, (FOCAL, *MIDDLE), True),
        Camera(3, (FOCAL, *MIDDLE, 0.0, 0.0), True),
        Camera(4, (FOCAL, FOCAL, *MIDDLE, 0.0, 0.0, 0.0, 0.0), True),
        Camera(5, (FOCAL, FOCAL, *MIDDLE, 0.0, 0.0, 0.0, 0.0), True),
        Camera(6, (FOCAL, FOCAL, *MIDDLE, *[0.0] * 8), True),
    ],
)
def test_models_of_cameras(camera):
    x = np.array([[0.2, -0.1], [0.0, 0.0]])
    radius = np.linalg.norm(x[0])
    bent = x * (np.arctan(radius) / radius if camera.model == 5 else 1)  # OpenCV's fisheye is equidistant
    np.testing.assert_allclose(camera.normalise(FOCAL * bent + MIDDLE), x, atol=1e-6)
    assert Camera(99, camera.parameters, True).normalise(x) is None
    assert Camera(camera.model, camera.parameters[:-1], True).normalise(x) is None


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
def test_what_moved_by_itself_is_no_part_of_the_static_scene(n_box):
    """Also where a box has twice as many matches as the room: the room covers more of the pictures."""
    xy0, xy1, body = room_and_boxes(n_box=n_box)
    static = find_static(xy0, xy1, body)
    assert static[body == 0].all()
    assert not static[body > 0].any()
    assert static[body < 0].mean() < 0.2  # what happens to lie near its epipolar line


def test_parts_of_the_room_are_one_scene_and_matches_of_no_object_join_it():
    xy0, xy1, body = room_and_boxes()
    room = np.flatnonzero(body == 0)
    cluster = body.copy()
    cluster[room[xy0[room, 0] > 320]] = 3
    cluster[room[::5]] = -1
    static = find_static(xy0, xy1, cluster)
    assert static[body == 0].mean() > 0.98
    assert not static[body > 0].any()


@pytest.mark.parametrize("n", [0, 7, 30])
def test_without_a_set_of_objects_the_scene_is_what_was_verified(n):
    """Of few matches, or of such as no matrix explains."""
    xy0, xy1, body = room_and_boxes()
    verified = np.arange(len(body)) % 3 == 0
    cluster = np.full(len(body), -1)
    cluster[np.flatnonzero(body < 0)[:n]] = 0
    assert np.array_equal(find_static(xy0, xy1, cluster, verified), verified)


def test_verified_matches_are_a_wider_scene_than_a_small_object_that_their_matrix_explains():
    xy0, xy1, body = room_and_boxes()
    room, box = np.flatnonzero(body == 0), np.flatnonzero(body == 1)
    near = np.argsort(np.linalg.norm(xy0[room] - xy0[room[0]], axis=1))[:10]
    verified = body == 0
    for rows, expected in ((room[near], True), (box[:10], False), (room, False)):
        static = np.isin(np.arange(len(body)), rows)
        assert is_wider(xy0, xy1, [rows], static, verified) == expected


def test_without_objects_and_verified_matches_a_significant_matrix_has_a_scene():
    xy0, xy1, body = room_and_boxes()
    static = find_static(xy0, xy1, np.full(len(body), -1))
    assert static[body == 0].all()
    assert static[body != 0].mean() < 0.2
    assert not find_static(xy0[:0], xy1[:0], body[:0]).any()


@pytest.mark.parametrize("n", [10, 40, 200])
def test_a_matrix_of_chance_matches_is_not_significant(n):
    rng = np.random.default_rng(n)
    for _ in range(5):
        xy0, xy1 = rng.uniform(0, (640, 480), (2, n, 2))
        assert not find_static(xy0, xy1, np.full(n, -1)).any()


def test_the_number_of_false_alarms_of_a_matrix():
    """By its definition: one match after another, one number of matches after another."""
    rng = np.random.default_rng(0)
    xy0 = rng.uniform(0, (640, 480), (30, 2))
    xy1 = np.column_stack([xy0[:, 0] + 20, xy0[:, 1] + rng.normal(0, 1, 30)])
    xy1[25:] = rng.uniform(0, (640, 480), (5, 2))
    rows = np.array([[0, 0, 0], [0, 0, -1], [0, 1, 0]], float)  # matches lie in the same row
    per_pixel = max(2 * np.hypot(*np.ptp(xy, axis=0)) / np.prod(np.ptp(xy, axis=0)) for xy in (xy0, xy1))
    far = sorted(abs(a[1] - b[1]) for a, b in zip(xy0, xy1, strict=True))
    numbers = []
    for k, error in enumerate(far, 1):
        if k > 7 and error / np.sqrt(2) <= 4:  # Sampson's
            numbers.append(3 * 23 * math.comb(30, k) * math.comb(k, 7) * (error * per_pixel) ** (k - 7))
    assert measure_significance(rows, xy0, xy1) == pytest.approx(np.log10(min(numbers)))
    twice = np.repeat(np.arange(30), 2)  # tells nothing new
    assert measure_significance(rows, xy0[twice], xy1[twice]) == pytest.approx(np.log10(min(numbers)))


def test_an_object_of_few_matches_has_no_matrix():
    xy0, xy1, _ = room_and_boxes()
    assert not find_static(xy0[:7], xy1[:7], np.zeros(7, np.int64)).any()
