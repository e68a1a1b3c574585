import numpy as np
import pytest

from synth.warp import ThinPlateWarp, random_warp, render, warp_map


@pytest.mark.parametrize("sigma", [0, 5, 50])
def test_warp_passes_through_its_control_points(sigma):
    warp = random_warp(960, sigma, np.random.default_rng(1))
    assert np.abs(warp(warp.controls) - warp.sources).max() < 1e-6


def test_control_points_are_the_inner_crossings_of_a_ten_by_ten_mesh():
    warp = random_warp(1000, 0.0, np.random.default_rng(0))
    assert warp.controls.shape == (81, 2)
    assert set(np.unique(warp.controls)) == set(np.arange(100, 1000, 100.0))


def test_control_points_move_by_sigma():
    moved = [random_warp(960, 7.0, np.random.default_rng(s)) for s in range(20)]
    shift = np.concatenate([w.sources - w.controls for w in moved])
    assert shift.std() == pytest.approx(7.0, rel=0.05)
    assert abs(shift.mean()) < 0.5


def test_without_deformation_the_warp_is_the_identity():
    xy = np.random.default_rng(0).uniform(-20, 980, (50, 2))
    assert np.abs(random_warp(960, 0, np.random.default_rng(0))(xy) - xy).max() < 1e-6


def test_affine_motion_of_the_control_points_gives_that_affine_map():
    controls = random_warp(300, 0, np.random.default_rng(0)).controls
    linear, shift = np.array([[1.1, 0.2], [-0.1, 0.9]]), np.array([3.0, -7.0])
    warp = ThinPlateWarp(controls, controls @ linear.T + shift)
    xy = np.array([[0.0, 0.0], [150.5, 20.25], [299.0, 299.0]])
    assert warp(xy) == pytest.approx(xy @ linear.T + shift, abs=1e-6)


@pytest.mark.parametrize("size", [96, 500])
def test_rendered_map_agrees_with_the_exact_spline_everywhere(size):
    warp = random_warp(size, size / 100, np.random.default_rng(3))
    x, y = np.meshgrid(np.arange(size), np.arange(size))
    exact = warp(np.stack([x, y], axis=-1).reshape(-1, 2)).reshape(size, size, 2)
    assert np.abs(warp_map(warp, size) - exact).max() < 0.02


def test_rendering_with_the_identity_keeps_the_image():
    image = np.random.default_rng(0).integers(0, 256, (96, 96, 3), dtype=np.uint8)
    assert np.array_equal(render(image, random_warp(96, 0, np.random.default_rng(0))), image)


def test_empty_input():
    assert random_warp(96, 3, np.random.default_rng(0))(np.empty((0, 2))).shape == (0, 2)
