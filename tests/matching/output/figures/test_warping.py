import numpy as np
import pytest
import skimage.data
from planting import similarity

from matching import MatchResult, object_deformation
from matching._common import opencv
from matching.objects.deformation import SmoothMap
from matching.objects.description import describe_object
from matching.output.figures.drawing import CANVAS_SIDE
from matching.output.figures.warping import draw_picks, draw_warp, draw_warps, warp_object
from matching.pictures.images import Picture

COFFEE = skimage.data.coffee()  # (400, 600, 3)


def smooth_map(linear, shift):
    base = np.vstack([np.column_stack([linear, shift]), [0, 0, 1]])
    return SmoothMap(base, np.inf, 0.0, 0.0)


def test_shift_moves_pixels():
    warped, inside = warp_object(COFFEE, smooth_map(np.eye(2), [140, 70]), (220, 230))
    assert warped.shape == (220, 230, 3)
    expected = COFFEE[70:290, 140:370]
    assert np.abs(warped.astype(int) - expected)[inside].max() <= 1
    assert inside.all()


def test_bend_is_interpolated_between_pixels():
    y, x = np.mgrid[:300, :300]
    ramp = np.repeat((40 + 0.5 * x)[:, :, None], 3, axis=2).astype(np.uint8)

    def bend(xy):
        return xy + np.column_stack([10 * np.sin(xy[:, 1] / 60), np.zeros(len(xy))])

    warped, inside = warp_object(ramp, bend, (300, 300))
    expected = 40 + 0.5 * (x + 10 * np.sin(y / 60))
    assert np.abs(warped[:, :, 0] - expected)[inside & (x > 20) & (x < 280)].max() < 1.1


def test_pixels_beyond_the_source_are_left_out():
    _, inside = warp_object(COFFEE, smooth_map(np.eye(2), [-150, 0]), (400, 600))
    assert not inside[:, :150].any()
    assert inside[60:261, 150:251].all()


def test_finer_source_is_reduced_first():
    fine = np.indices((400, 600)).sum(axis=0) % 2 * 255  # single pixels: plain sampling would alias
    fine = np.repeat(fine[:, :, None], 3, axis=2).astype(np.uint8)
    warped, inside = warp_object(fine, smooth_map(4.02 * np.eye(2), [0, 0]), (70, 70))
    assert np.abs(warped[inside].astype(int) - 127).max() < 40


@pytest.fixture(scope="module")
def pair():
    """The coffee cup, and the same turned a little; one object in the middle: (pictures, result)."""
    linear, shift = similarity(0.1, 1.1), np.array([20.0, -30])
    y, x = np.mgrid[:400, :600].astype(float)
    back = (np.stack([x, y], axis=-1) - shift) @ np.linalg.inv(linear).T
    pictures = Picture(COFFEE), Picture(opencv.sample(COFFEE, back))
    xy0 = np.random.default_rng(0).uniform([180, 120], [340, 280], (200, 2))
    xy1 = xy0 @ linear.T + shift
    found = describe_object(0, xy0, xy1, 50.0)
    return pictures, MatchResult(xy0, xy1, np.zeros(200, int), np.zeros(200), (found,))


def test_panels_show_picture_warped_object_and_checkerboard(pair):
    pictures, result = pair
    deformation = object_deformation(result, 0)
    negative = 255 - pictures[0].rgb
    panels = draw_warp(negative, pictures[1].rgb, deformation.backward, result.objects[0], 1)
    gap = panels.shape[0] // 50
    width = (panels.shape[1] - 2 * gap) // 3
    shown, laid, board = (panels[:, k * (width + gap) :][:, :width].astype(int) for k in range(3))
    covered, squares = (np.abs(panel - shown).max(axis=2) > 20 for panel in (laid, board))
    assert 0.2 < covered.mean() < 0.9
    assert 0.35 < squares.sum() / covered.sum() < 0.65
    assert (squares & ~covered).mean() < 0.01  # where enlarging rings


@pytest.mark.parametrize("n", [1, 2, 3, 12])
def test_objects_of_few_matches_are_drawn(n):
    xy0 = np.array([[2.0, 3], [90, 5], [50, 70], *np.random.default_rng(0).uniform(0, 90, (9, 2))])[:n]
    result = MatchResult(
        xy0, xy0 + 5, np.zeros(n, int), np.zeros(n), (describe_object(0, xy0, xy0 + 5, 20.0),)
    )
    pictures = Picture(COFFEE[:80, :100]), Picture(COFFEE[:85, :110])
    found = result.objects[0]
    drawn = draw_warps(*pictures, found, object_deformation(result, 0))
    assert list(drawn) == ["object0-warp01", "object0-warp10"]
    for rgb in (draw_picks(*(picture.rgb for picture in pictures), result, found), *drawn.values()):
        assert (rgb == (230, 159, 0)).all(axis=2).any()  # the outline, in the object's colour


def test_picture_longer_than_opencv_accepts_is_drawn():
    long = np.tile(COFFEE[:60], (1, 70, 1))  # 42,000 pixels wide
    shift = np.array([40_000.0, 0])
    warped, inside = warp_object(long, smooth_map(np.eye(2), shift), (60, 220))
    np.testing.assert_array_equal(warped[inside], long[:, 40_000:40_220][inside])
    assert inside.any()


def test_cut_outs_of_a_long_strip_stay_in_bounds():
    strip = np.broadcast_to(np.uint8(90), (20, 40_000, 3))  # at 640 pixels of height: 1,280,000 wide
    xy = np.array([[10.0, 5], [39_990, 5], [39_990, 15], [10, 15], [20_000, 10]])
    result = MatchResult(xy, xy, np.zeros(5, int), np.ones(5), (describe_object(0, xy, xy, 50.0),))
    drawn = draw_picks(strip, strip, result, result.objects[0])
    assert drawn.shape[1] <= 1.01 * CANVAS_SIDE
