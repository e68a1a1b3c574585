import numpy as np
import pytest

from synth.rooms import (
    RoomCamera,
    cast_rays,
    find_places,
    make_box,
    make_room,
    match_planes,
    turn_about,
)


def room():
    """A room and a box in it."""
    return [*make_room(), *make_box(np.ones(3), np.array([0.5, 1.5, 4]), 0.4)]


def camera(x=0.0, turn=0.0):
    return RoomCamera(100.0, (90, 120), turn_about(1, turn), np.array([x, 0.0, 0.0]))


def test_each_pixel_shows_the_nearest_plane_that_faces_it():
    """The definition, a ray at a time: the least depth at which the ray is within a parallelogram."""
    planes, view = room(), camera(0.3, 0.2)
    shown, place = cast_rays(planes, view, np.array([[60.0, 40.0], [70.0, 70.0], [5.0, 50.0], [110.0, 3.0]]))
    for xy, found, at in zip([(60, 40), (70, 70), (5, 50), (110, 3)], shown, place, strict=True):
        ray = np.linalg.inv(view.matrix @ view.rotation) @ (*xy, 1)
        depths = []
        for plane in planes:
            normal = np.cross(plane.right, plane.down)
            depth = (plane.corner - view.centre) @ normal / (ray @ normal)
            offset = view.centre + depth * ray - plane.corner
            a, b = (offset @ side / (side @ side) for side in (plane.right, plane.down))
            inside = 0 <= a <= 1 and 0 <= b <= 1 and depth > 0 and ray @ normal > 0
            depths.append(depth if inside else np.inf)
        assert found == np.argmin(depths)
        point = planes[found].corner + at[0] * planes[found].right + at[1] * planes[found].down
        np.testing.assert_allclose(view.project(point[None])[0], xy, atol=1e-9)


def test_places_are_found_in_another_picture():
    planes, other = room(), camera(0.4, -0.1)
    xy = np.stack(np.meshgrid(np.arange(120.0), np.arange(90.0)), axis=2).reshape(-1, 2)
    shown, place = cast_rays(planes, camera(), xy)
    front = shown == 5  # of the box
    there, is_seen = find_places(planes, other, shown[front], place[front])
    assert is_seen.mean() > 0.9
    found, at = cast_rays(planes, other, there[is_seen])
    assert (found == 5).all()
    np.testing.assert_allclose(at, place[front][is_seen], atol=1e-9)


@pytest.mark.parametrize("seed", [0, 1])
def test_matches_of_a_plane_have_one_homography(seed):
    given = match_planes(seed, noise=0.0)
    assert np.mean(given.label < 0) == pytest.approx(0.3, abs=0.01)
    for k in range(given.label.max() + 1):
        own = given.label == k
        assert own.sum() >= 12
        (x, y), (u, v) = given.xy0[own].T, given.xy1[own].T
        one, none = np.ones(len(x)), np.zeros((3, len(x)))
        point = np.stack([x, y, one])
        rows = np.hstack([np.vstack([point, none, -u * point]), np.vstack([none, point, -v * point])]).T
        size = np.linalg.svd(rows / np.linalg.norm(rows, axis=0), compute_uv=False)
        assert size[-1] < 1e-8 * size[0]
