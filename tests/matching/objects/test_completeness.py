"""Whether a place shows the whole of picture 0: prints that are whole, in part, recoloured, cut, dimmed."""

import numpy as np
import pytest
from planting import crops

from matching.agreement.completeness import compare_colours
from matching.agreement.look import look_between
from matching.objects.transforms import apply_transform, fit_corners

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


def measure(front, shown, frame=FRAME, box=(0, 0, SIDE, SIDE), part=None, **masks):
    """How complete an object is: the box of picture 0 lies in the frame, and the matches in a part of it."""
    left, top, right, bottom = np.array(box) - 0.5
    corners = np.array([[left, top], [right, top], [right, bottom], [left, bottom]])
    low, high = np.reshape(part or box, (2, 2)) + np.array([[5.0], [-6.0]])
    xy0 = np.random.default_rng(1).uniform(low, high, (80, 2))
    xy1 = apply_transform(fit_corners(corners, frame), xy0)
    inside = ((xy1 > 0) & (xy1 < np.array(shown.shape[1::-1]) - 1)).all(axis=1)
    look = look_between(front, shown, xy0[inside], xy1[inside], **masks)
    return look.look_around((corners, frame))[1]


def test_print_in_other_light_is_whole(front):
    dimmed = (scene(front) * [0.5, 0.6, 0.7] + 10).astype(np.uint8)
    found = measure(front, dimmed)
    assert found.value > 0.95
    assert found.visible == 1
    assert found.is_whole


def test_print_that_shares_a_part_is_not_whole(front):
    sister = crops()["coffee"].copy()
    sister[:110] = front[:110]
    found = measure(front, scene(sister), part=(0, 0, SIDE, 110))
    assert 0.4 < found.value < 0.6
    assert not found.is_whole
    assert found.print_share < 0.65


def test_part_that_is_small_on_a_large_picture_is_not_whole(front):
    """What the map does not reach does not count as shown."""
    sister = crops()["coffee"].copy()
    sister[80:120, 80:120] = front[80:120, 80:120]
    found = measure(front, scene(sister), part=(80, 80, 120, 120))
    assert 0 < found.value < 0.3
    assert found.visible == 1


def test_print_in_another_colour_is_not_whole(front):
    front = crops()["coffee"]
    other = front.copy()
    other[:, 70:] = other[:, 70:][..., [2, 0, 1]]  # red, blue
    found = measure(front, scene(other), part=(0, 0, 70, SIDE))
    assert found.print_share > 0.8
    assert found.value <= found.colour_share < 0.66


def test_invisible_parts_do_not_count(front):
    frame = FRAME - [200, 0]
    found = measure(front, scene(front, frame), frame)
    assert found.value > 0.9
    assert 0.3 < found.visible < 0.7


def test_masked_parts_do_not_count(front):
    sister = front.copy()
    sister[:110] = crops()["coffee"][:110]
    mask = np.zeros((SIDE, SIDE), bool)
    mask[110:] = True
    lower = apply_transform(fit_corners(CORNERS, FRAME), CORNERS * [1, 0.5] + [0, SIDE / 2 - 0.25])
    found = measure(front, scene(sister), lower, box=(0, 110, SIDE, SIDE), shown0=mask)
    assert found.is_whole
    assert found.visible == 1
    covered = np.ones((320, 420), bool)
    covered[:, 200:] = False
    assert measure(front, scene(front), shown1=covered).visible < 0.6


def test_plain_margins_do_not_count(front):
    wide = np.full((SIDE, SIDE, 3), 255, np.uint8)
    wide[:, 60:160] = front[:, 60:160]
    shown = wide.copy()
    shown[:, :60] = crops()["coffee"][:, :60]
    shown[:, 160:] = crops()["chelsea"][:, 160:]
    assert measure(wide, scene(shown), part=(60, 0, 160, SIDE)).value > 0.75
    assert measure(np.full((SIDE, SIDE, 3), 255, np.uint8), scene(front)) is None


@pytest.mark.parametrize(
    "frame",
    [
        FRAME[[0, 2, 1, 3]],  # crosses itself
        FRAME / 400,  # too small
        np.array([[0.0, 0], [300, 0], [60, 60], [0, 300]]),  # no view of a plane
    ],
)
def test_unusable_frames_give_no_completeness(front, frame):
    xy = np.random.default_rng(1).uniform(5, SIDE - 6, (80, 2))
    look = look_between(front, scene(front), xy, xy + 50)
    assert look.look_around((CORNERS, frame))[1] is None


def test_light_is_measured_where_both_show_the_same():
    rng = np.random.default_rng(2)
    a = np.tile(rng.uniform(50, 200, (16, 16, 3)).repeat(4, axis=0).repeat(4, axis=1), (1, 1, 1))
    b = a * [0.5, 0.7, 0.9]
    a, b = a.astype(np.float32), b.astype(np.float32)
    same = np.zeros((64, 64), bool)
    same[20:40, 20:40] = True
    assert compare_colours(a, b, same).max() < 5
    b[:, 40:] = b[:, 40:][..., [2, 0, 1]]
    assert compare_colours(a, b, same)[:, 45:].mean() > compare_colours(a, b, same)[:, :35].mean() + 10
