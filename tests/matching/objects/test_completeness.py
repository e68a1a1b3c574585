"""Whether a place shows the whole of picture 0: prints that are whole, in part, recoloured, cut, dimmed."""

import numpy as np
import pytest
from planting import crops

from matching.objects.agreement import correlate
from matching.objects.completeness import compare_colours, measure_completeness
from matching.objects.transforms import apply_transform, fit_corners
from matching.pictures.images import Picture, make_picture

SIDE = 220
CORNERS = np.array([[-0.5, -0.5], [SIDE - 0.5, -0.5], [SIDE - 0.5, SIDE - 0.5], [-0.5, SIDE - 0.5]])
FRAME = np.array([[120.0, 60], [300, 80], [290, 270], [110, 240]])


@pytest.fixture
def front():
    return crops()["astronaut"]


def scene(print_, frame=FRAME, size=(320, 420)):
    """Noise with a print laid into a frame."""
    rng = np.random.default_rng(0)
    rgb = rng.integers(60, 200, (*size, 3)).astype(np.uint8)
    y, x = np.indices(size)
    back = apply_transform(fit_corners(frame, CORNERS), np.stack([x, y], 2).reshape(-1, 2).astype(float))
    at = np.rint(back).astype(int).reshape(*size, 2)
    inside = ((at >= 0) & (at < SIDE)).all(axis=2)
    rgb[inside] = print_[at[inside][:, 1], at[inside][:, 0]]
    return rgb


def measure(front, shown, frame=FRAME, **masks):
    picture0 = Picture(front, masks.get("mask0"))
    picture1 = Picture(shown, masks.get("mask1"))
    return measure_completeness(picture0, picture1, frame, [*CORNERS[:2].tolist(), [100.0, 100.0]])


def test_print_in_other_light_is_whole(front):
    dimmed = (scene(front) * [0.5, 0.6, 0.7] + 10).astype(np.uint8)
    found = measure(front, dimmed)
    assert found.value > 0.95
    assert found.visible == 1
    assert found.is_whole


def test_print_that_shares_a_part_is_not_whole(front):
    sister = crops()["coffee"].copy()
    sister[:110] = front[:110]
    found = measure(front, scene(sister))
    assert 0.4 < found.value < 0.6
    assert not found.is_whole
    assert found.print_share < 0.65


def test_print_in_another_colour_is_not_whole(front):
    front = crops()["coffee"]
    other = front.copy()
    other[:, 70:] = other[:, 70:][..., [2, 0, 1]]  # red, blue
    found = measure(front, scene(other))
    assert found.print_share > 0.8
    assert found.value <= found.colour_share < 0.66


def test_invisible_and_masked_parts_do_not_count(front):
    frame = FRAME - [200, 0]
    found = measure(front, scene(front, frame), frame)
    assert found.value > 0.9
    assert 0.3 < found.visible < 0.7
    sister = front.copy()
    sister[:110] = crops()["coffee"][:110]
    mask = np.zeros((SIDE, SIDE), bool)
    mask[110:] = True
    lower = fit_corners(CORNERS, FRAME)
    box = make_picture(front)
    assert box.mask is None
    masked = apply_transform(lower, np.array([[-0.5, 109.5], *CORNERS[[1, 2, 3]] * [1, 1]]))
    masked[1] = apply_transform(lower, np.array([[SIDE - 0.5, 109.5]]))
    found = measure(front, scene(sister), masked, mask0=mask)
    assert found.is_whole
    assert found.visible == 1
    covered = np.ones((320, 420), bool)
    covered[:, 200:] = False
    assert measure(front, scene(front), mask1=covered).visible < 0.6


def test_plain_margins_do_not_count(front):
    wide = np.full((SIDE, SIDE, 3), 255, np.uint8)
    wide[:, 60:160] = front[:, 60:160]
    shown = wide.copy()
    shown[:, :60] = shown[:, 160:] = crops()["coffee"][:, :60]
    shown[:, 160:] = crops()["chelsea"][:, 160:]
    assert measure(wide, scene(shown)).value > 0.9
    assert measure(np.full((SIDE, SIDE, 3), 255, np.uint8), scene(front)) is None


@pytest.mark.parametrize(
    "frame",
    [
        FRAME[[0, 2, 1, 3]],  # crosses itself
        FRAME / 40,  # too small
        FRAME + 1000,  # elsewhere
        np.array([[0.0, 0], [300, 0], [60, 60], [0, 300]]),  # no view of a plane
    ],
)
def test_unusable_frames_give_no_completeness(front, frame):
    assert measure(front, scene(front), frame) is None


def test_print_is_found_at_a_small_shift():
    rng = np.random.default_rng(1)
    a = rng.uniform(0, 255, (64, 64))
    b = np.roll(a, (2, -1), axis=(0, 1))
    assert np.median(correlate(a, b)) > 0.99
    assert np.median(correlate(a, np.roll(a, 9, axis=0))) < 0.5
    flat = np.full((64, 64), 90.0)
    assert (correlate(flat, flat + 20) == 1).all()
    assert (correlate(flat, a) < 0.5).mean() > 0.95  # print where there is none


def test_light_is_measured_where_both_show_the_same():
    rng = np.random.default_rng(2)
    a = np.tile(rng.uniform(50, 200, (16, 16, 3)).repeat(4, axis=0).repeat(4, axis=1), (1, 1, 1))
    b = a * [0.5, 0.7, 0.9]
    same = np.zeros((64, 64), bool)
    same[20:40, 20:40] = True
    assert compare_colours(a, b, same).max() < 5
    b[:, 40:] = b[:, 40:][..., [2, 0, 1]]
    assert compare_colours(a, b, same)[:, 45:].mean() > compare_colours(a, b, same)[:, :35].mean() + 10
