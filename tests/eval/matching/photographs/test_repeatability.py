import numpy as np
import pytest
import skimage.data

from eval.matching.photographs.repeatability import DETECTORS, detect, found_again, turned_copy

TURN = np.array([[0.0, -1.0, 100.0], [1.0, 0.0, 0.0]])  # by a quarter: (x, y) to (100 - y, x)


def test_found_again_by_hand():
    xy = np.array([[50.0, 40], [30, 70], [60, 60], [45, 55], [2, 50]])
    sigma = np.array([2.0, 2, 2, 4, 2])
    copy_xy = np.array([[60.0, 51], [30, 36], [40, 60], [45, 45]])
    copy_sigma = np.array([2.0, 2, 3, 4])
    gap = found_again((xy, sigma), (copy_xy, copy_sigma), TURN, (101, 101))
    # 1 px off; 6 px off at scale 2; right place, wrong scale; exact; its place is at the copy's border
    assert np.allclose(gap, [1.0, np.nan, np.nan, 0.0], equal_nan=True)


def test_scales_follow_the_copy():
    doubled = np.array([[2.0, 0, 0], [0, 2, 0]])
    here, there = np.array([[30.0, 30]]), np.array([[60.0, 60]])
    for sigma, again in ((2.0, False), (4.0, True)):
        gap = found_again((here, np.array([2.0])), (there, np.array([sigma])), doubled, (101, 101))
        assert np.isfinite(gap).tolist() == [again]


def test_nothing_in_the_copy():
    none = np.empty((0, 2)), np.empty(0)
    gap = found_again((np.array([[50.0, 40]]), np.array([2.0])), none, TURN, (101, 101))
    assert np.isnan(gap).tolist() == [True]
    assert len(found_again(none, none, TURN, (101, 101))) == 0


@pytest.mark.parametrize("name", DETECTORS)
def test_a_picture_and_its_turned_copy(name):
    grey = skimage.data.camera()[:301, :301]
    quarter, matrix = turned_copy(grey, np.pi / 2, 1.0, np.random.default_rng(0), noise=0.0)
    assert np.array_equal(quarter, np.rot90(grey, -1))
    gap = found_again(detect(name, grey), detect(name, quarter), matrix, quarter.shape)
    assert len(gap) > 100
    assert np.isfinite(gap).mean() > 0.9
    assert np.nanmedian(gap) < 0.05


def test_noise_is_what_is_asked_for():
    grey = np.full((200, 200), 128, np.uint8)
    copy, _ = turned_copy(grey, 0.0, 1.0, np.random.default_rng(0), noise=3.0)
    assert copy.std() == pytest.approx(3.0, rel=0.05)
