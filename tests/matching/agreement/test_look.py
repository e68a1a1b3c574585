"""What lies between matches: the same print, an altered one, another one of the same elements, and glare."""

import numpy as np
import pytest
from planting import crops

from matching._common import opencv
from matching._common.threads import limit_threads
from matching.agreement.look import look_between
from matching.objects.transforms import apply_transform

SIDE = 220
VIEW = np.array([[0.9, -0.15, 90.0], [0.12, 0.95, 40.0], [1e-4, 5e-5, 1.0]])
SCENE = 360, 400


def photograph(print_, seed=0):
    """A print laid into noise by VIEW, dimmed, blurred and noisy."""
    rng = np.random.default_rng(seed)
    scene = rng.integers(60, 200, (*SCENE, 3)).astype(np.float32)
    y, x = np.indices(SCENE)
    back = apply_transform(np.linalg.inv(VIEW), np.stack([x, y], 2).reshape(-1, 2).astype(float))
    back = back.reshape(*SCENE, 2)
    inside = ((back >= 0) & (back <= SIDE - 1)).all(axis=2)
    scene[inside] = opencv.sample(print_, back)[inside]
    scene = opencv.gaussian_blur(scene * [0.8, 0.75, 0.7], 0.7) + rng.normal(0, 3, scene.shape)
    return np.clip(scene, 0, 255).astype(np.uint8)


def list_matches(n=80, low=5.0, high=SIDE - 6.0, seed=1):
    """Matches all over the print and their places in the scene, off by half a pixel."""
    rng = np.random.default_rng(seed)
    xy0 = rng.uniform(low, high, (n, 2))
    return xy0, apply_transform(VIEW, xy0) + rng.normal(0, 0.5, (n, 2))


def draw_letters(seed):
    """A page of made-up letters in rows, drawn anew for each seed."""
    rng = np.random.default_rng(seed)
    page = np.full((SIDE, SIDE, 3), 235, np.uint8)
    alphabet = np.random.default_rng(0).integers(0, 2, (12, 4, 3)).astype(bool)
    for y in range(8, SIDE - 12, 14):
        for x in range(8, SIDE - 12, 10):
            letter = np.kron(alphabet[rng.integers(12)], np.ones((2, 2), bool))
            page[y : y + 8, x : x + 6][letter] = 30
    return page


@pytest.fixture(scope="module")
def front():
    return crops()["astronaut"]


@pytest.fixture(scope="module")
def altered(front):
    """The print with another picture in one place, 60 x 50 pixels at (90, 80)."""
    page = front.copy()
    page[80:130, 90:150] = crops()["coffee"][60:110, 60:120]
    return page


def overlaps(polygon, box):
    inside = opencv.fill_polygons((SIDE, SIDE), [polygon])
    (x, y), (width, height) = box
    return inside[y : y + height, x : x + width].mean() > 0.25


def test_same_print_in_other_light_is_an_object_and_the_same(front):
    found = look_between(front, photograph(front), *list_matches())
    assert found.existence.significance > 5
    assert found.is_object is True
    assert found.is_same is True
    assert found.smallest_difference < 0.1


def test_altered_place_is_told_in_both_pictures(front, altered):
    found = look_between(front, photograph(altered), *list_matches())
    assert found.is_object is True
    assert found.is_same is False
    first = found.differences[0]
    assert overlaps(first.polygon0, ((90, 80), (60, 50)))
    assert np.abs(apply_transform(VIEW, first.polygon0) - first.polygon1).max() < 6
    assert 0.02 < first.share < 0.2


def test_another_page_of_the_same_letters_is_no_object():
    found = look_between(draw_letters(1), photograph(draw_letters(2)), *list_matches())
    assert found.existence.significance <= -1
    assert found.is_object is False
    assert found.is_same is None


def test_same_page_of_letters_is_an_object():
    found = look_between(draw_letters(1), photograph(draw_letters(1)), *list_matches())
    assert found.is_object is True
    assert found.is_same is True


def test_glare_is_no_difference(front):
    scene = photograph(front).astype(float)
    y, x = np.indices(SCENE)
    spot = 170 * np.exp(-(((x - 190) / 25) ** 2 + ((y - 150) / 20) ** 2))
    found = look_between(front, np.clip(scene + spot[..., None], 0, 255).astype(np.uint8), *list_matches())
    assert found.is_object is True
    assert not found.differences


def test_swapped_pictures_give_the_same_answer(front, altered):
    scene, (xy0, xy1) = photograph(altered), list_matches()
    found, back = look_between(front, scene, xy0, xy1), look_between(scene, front, xy1, xy0)
    assert found.existence == back.existence
    assert found.smallest_difference == back.smallest_difference
    assert len(found.differences) == len(back.differences) > 0
    np.testing.assert_array_equal(found.differences[0].polygon0, back.differences[0].polygon1)
    np.testing.assert_array_equal(found.extent.outline1, back.extent.outline0)


def test_any_number_of_threads_gives_the_same_answer(front, altered):
    scene, matches = photograph(altered), list_matches()
    found = []
    for n in (1, 2):
        with limit_threads(n):
            found.append(look_between(front, scene, *matches))
    one, two = found
    assert one.existence == two.existence
    np.testing.assert_array_equal(one.differences[0].polygon1, two.differences[0].polygon1)
    np.testing.assert_array_equal(one.extent.outline0, two.extent.outline0)


def test_object_ends_where_agreement_ends(front):
    """Matches in the middle of the print are enough, and what is covered is left out."""
    page = front.copy()
    page[:, :50] = np.random.default_rng(5).integers(0, 255, (SIDE, 50, 3))
    found = look_between(front, photograph(page), *list_matches(low=45.0, high=SIDE - 45.0))
    inside = opencv.fill_polygons((SIDE, SIDE), [found.extent.outline0])
    assert inside[60:160, 70:190].mean() > 0.9
    assert inside[:, :30].mean() < 0.2
    np.testing.assert_allclose(
        apply_transform(VIEW, found.extent.outline0), found.extent.outline1, atol=7, rtol=0
    )


def test_places_of_one_picture_are_told_by_resemblance(front):
    page = np.concatenate([front, crops()["coffee"], front], axis=1)
    xy0, _ = list_matches()
    true = look_between(page, page, xy0, xy0 + np.array([2 * SIDE, 0]), of_one=True)
    false = look_between(page, page, xy0, xy0 + np.array([SIDE, 0]), of_one=True)
    assert true.existence.share > 0.95
    assert true.is_object is True
    assert false.existence.share < 0.5
    assert false.is_object is False


def test_hidden_part_is_not_looked_at(front, altered):
    shown = np.ones((SIDE, SIDE), bool)
    shown[75:135, 85:155] = False
    found = look_between(front, photograph(altered), *list_matches(), shown0=shown)
    assert found.is_object is True
    assert not found.differences


@pytest.mark.parametrize("n", [1, 2, 3, 8])
def test_few_matches_or_matches_at_one_place_break_nothing(front, n):
    scene = photograph(front)
    xy0, xy1 = list_matches(n)
    for ends in ((xy0, xy1), (xy0[:1].repeat(n, axis=0), xy1[:1].repeat(n, axis=0))):
        assert look_between(front, scene, *ends).is_object in (True, False, None)


def test_flat_pictures_tell_nothing():
    flat = np.full((SIDE, SIDE, 3), 128, np.uint8)
    xy0, _ = list_matches()
    found = look_between(flat, flat, xy0, xy0 + 1.0)
    assert found.is_object is None
    assert found.is_same is None
    assert np.isnan(found.existence.significance)
    assert look_between(flat, flat, xy0, xy0 + 1.0, of_one=True).is_object is None


def test_altered_place_is_found_in_a_softer_scene(front, altered):
    """Both pictures are made equally sharp before their colours are compared."""
    xy0, xy1 = list_matches()
    soft = opencv.gaussian_blur(photograph(altered).astype(np.float32), 1.5).astype(np.uint8)
    found = look_between(front, soft, xy0, xy1)
    assert found.is_same is False
    copy = opencv.gaussian_blur(photograph(front).astype(np.float32), 1.5).astype(np.uint8)
    assert look_between(front, copy, xy0, xy1).is_same is not False


def test_place_that_may_be_glare_leaves_open_whether_both_are_the_same(front):
    scene = photograph(front).astype(np.float32)
    scene[120:190, 170:240] = 0.25 * scene[120:190, 170:240] + 0.75 * 255
    xy0, xy1 = list_matches()
    found = look_between(front, scene.astype(np.uint8), xy0, xy1)
    assert found.differences == ()
    assert found.is_same is None
