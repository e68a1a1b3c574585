"""Where picture 0 lies in picture 1, and how an object moved."""

import numpy as np
import pytest

from matching.objects.description import describe_object
from matching.objects.frames import describe_motion, fit_frame, list_corners, polygon_area
from matching.objects.transforms import apply_transform, fit_transform, linear_part, refine_homography

BOX = np.array([[-0.5, -0.5], [399.5, 499.5]])
TILTED = np.array([[0.62, -0.21, 140.0], [0.17, 0.55, 80.0], [2e-4, -1e-4, 1.0]])


def similarity(scale, degrees, shift=(50.0, 20.0), mirrored=False):
    c, s = scale * np.cos(np.radians(degrees)), scale * np.sin(np.radians(degrees))
    flip = np.diag([-1.0, 1.0]) if mirrored else np.eye(2)
    return np.vstack([np.column_stack([np.array([[c, -s], [s, c]]) @ flip, shift]), [0, 0, 1]])


def matches(transform, n, rng, low=(0.0, 0.0), high=(1.0, 1.0), noise=0.5, wrong=0.0):
    """n matches in a part of the box, of which a share is wrong by many pixels."""
    xy0 = rng.uniform(low, high, (n, 2)) * [400, 500]
    xy1 = apply_transform(transform, xy0) + rng.normal(0, noise, (n, 2))
    bad = rng.random(n) < wrong
    xy1[bad] += rng.normal(0, 30, (bad.sum(), 2))
    return xy0, xy1


def frame_error(transform, xy0, xy1):
    """Mean distance of the corners from the truth, over the length of the true frame's diagonal."""
    frame = fit_frame(xy0, xy1, BOX, fit_transform(xy0, xy1)[0])
    truth = apply_transform(transform, list_corners(BOX))
    return np.linalg.norm(frame - truth, axis=1).mean() / np.linalg.norm(truth[2] - truth[0])


def test_corners_begin_top_left_and_go_clockwise():
    assert list_corners(BOX).tolist() == [[-0.5, -0.5], [399.5, -0.5], [399.5, 499.5], [-0.5, 499.5]]


@pytest.mark.parametrize("transform", [similarity(0.5, 40), similarity(2, -100, mirrored=True), TILTED])
def test_many_matches_give_the_frame_to_a_pixel(transform):
    rng = np.random.default_rng(0)
    assert frame_error(transform, *matches(transform, 200, rng, wrong=0.1)) < 0.004


@pytest.mark.parametrize("mirrored", [False, True])
def test_few_matches_in_a_corner_do_not_throw_the_frame_away(mirrored):
    """A homography fitted to them is off by the frame's own size in a tenth of the cases."""
    transform = similarity(0.5, 15, mirrored=mirrored)
    errors = [
        frame_error(transform, *matches(transform, 16, np.random.default_rng(k), high=(0.3, 0.3), noise=1.0))
        for k in range(30)
    ]
    assert np.median(errors) < 0.06
    assert max(errors) < 0.15


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_matches_give_four_finite_corners(n):
    xy0 = np.array([[10.0, 10.0], [200.0, 300.0], [350.0, 40.0]])[:n]
    transform = fit_transform(xy0, xy0 + 7)[0]
    assert np.abs(fit_frame(xy0, xy0 + 7, BOX, transform) - list_corners(BOX) - 7).max() < 1


def test_linear_part_is_the_derivative():
    point, step = np.array([120.0, 310.0]), 1e-4
    moved = apply_transform(TILTED, point + np.array([[step, 0], [0, step], [-step, 0], [0, -step]]))
    assert np.allclose(linear_part(TILTED, point), ((moved[:2] - moved[2:]) / (2 * step)).T, atol=1e-7)


@pytest.mark.parametrize("turn", [-150.0, 0.0, 30.0, 180.0])
@pytest.mark.parametrize("mirrored", [False, True])
def test_motion_describes_turn_scale_and_mirroring(turn, mirrored):
    square = np.array([[0.0, 0], [200, 0], [200, 250], [0, 250]])
    transform = similarity(0.4, turn, mirrored=mirrored)
    motion = describe_motion(transform, square, apply_transform(transform, square), BOX)
    assert motion.turn == pytest.approx(turn)
    assert motion.scale == pytest.approx(0.4)
    assert motion.mirrored is mirrored
    assert motion.share == pytest.approx(0.25)
    middle = apply_transform(transform, np.array([[100.0, 125.0]]))[0]
    assert motion.centre == pytest.approx(middle)


def test_polygon_area_is_exact():
    assert polygon_area(np.array([[0.0, 0], [4, 0], [4, 3]])) == 6
    assert polygon_area(np.array([[5.0, 5]])) == 0


def test_a_logo_alone_ranks_below_a_whole_product():
    rng = np.random.default_rng(2)
    product = describe_object(0, *matches(similarity(0.5, 0), 100, rng), 0.6, box=BOX, box1=BOX)
    logo = describe_object(0, *matches(similarity(1, 0), 60, rng, high=(0.2, 0.1)), 0.9, box=BOX, box1=BOX)
    assert product.rank > 5 * logo.rank
    assert product.rank == product.score * product.motion.share


def test_matches_that_all_fall_on_one_point_put_the_frame_there():
    xy0 = np.random.default_rng(0).uniform(0, 100, (10, 2))
    frame = fit_frame(xy0, np.full((10, 2), 5.0), BOX, np.diag([0.0, 0.0, 1.0]))
    assert frame.tolist() == [[5.0, 5.0]] * 4


@pytest.mark.parametrize("off", [0.0, 1e-9])
def test_horizon_through_the_middle_of_the_box_is_accepted(off):
    rng = np.random.default_rng(0)
    transform = np.array(
        [[1.0, 0.1, 5.0], [0.0, 1.2, 3.0], [0.01, 0.0, -1.0 + off]]
    )  # the horizon is x = 100
    xy0 = rng.uniform([120, 0], [190, 100], (60, 2))
    xy1 = apply_transform(transform, xy0) + rng.normal(0, 0.3, (60, 2))
    box = np.array([[0.0, 0.0], [200.0, 100.0]])
    assert np.isfinite(fit_frame(xy0, xy1, box, transform)).all()
    assert refine_homography(xy0, xy1, transform, 0.3, box) is transform  # there is no scale to fit it in
