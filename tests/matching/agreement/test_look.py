"""What lies between matches: the same print, an altered one, another one of the same elements, and glare."""

import numpy as np
import pytest
import shapely
import skimage.data
from planting import crops

from matching._common import opencv
from matching._common.threads import limit_threads
from matching.agreement.existence import Verdict
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
    assert found.existence.verdict is Verdict.OBJECT
    assert found.compare().is_same is True


def test_altered_place_is_told_in_both_pictures(front, altered):
    found = look_between(front, photograph(altered), *list_matches())
    assert found.existence.verdict is Verdict.OBJECT
    assert found.compare().is_same is False
    first = found.compare().differences[0]
    assert overlaps(first.polygon0, ((90, 80), (60, 50)))
    assert np.abs(apply_transform(VIEW, first.polygon0) - first.polygon1).max() < 6
    assert 0.02 < first.share < 0.2


def test_another_page_of_the_same_letters_is_no_object():
    found = look_between(draw_letters(1), photograph(draw_letters(2)), *list_matches())
    assert found.existence.significance <= -1
    assert found.existence.verdict is Verdict.NONE


def test_same_page_of_letters_is_an_object():
    found = look_between(draw_letters(1), photograph(draw_letters(1)), *list_matches())
    assert found.existence.verdict is Verdict.OBJECT
    assert found.compare().is_same is not False


def test_glare_is_no_difference(front):
    scene = photograph(front).astype(float)
    y, x = np.indices(SCENE)
    spot = 250 * np.exp(-(((x - 190) / 25) ** 2 + ((y - 150) / 20) ** 2))
    found = look_between(front, np.clip(scene + spot[..., None], 0, 255).astype(np.uint8), *list_matches())
    assert found.existence.verdict is Verdict.OBJECT
    assert not found.compare().differences


def test_swapped_pictures_give_the_same_answer(front, altered):
    scene, (xy0, xy1) = photograph(altered), list_matches()
    found, back = look_between(front, scene, xy0, xy1), look_between(scene, front, xy1, xy0)
    assert found.existence == back.existence
    assert found.compare().is_same is back.compare().is_same
    assert len(found.compare().differences) == len(back.compare().differences) > 0
    np.testing.assert_array_equal(
        found.compare().differences[0].polygon0, back.compare().differences[0].polygon1
    )
    np.testing.assert_array_equal(found.look_around(None)[0].outline1, back.look_around(None)[0].outline0)


def test_any_number_of_threads_gives_the_same_answer(front, altered):
    scene, matches = photograph(altered), list_matches()
    found = []
    for n in (1, 2):
        with limit_threads(n):
            look = look_between(front, scene, *matches)
            found.append((look.existence, look.compare().differences, look.look_around(None)[0]))
    (one, there, extent), (two, again, other) = found
    assert one == two
    np.testing.assert_array_equal(there[0].polygon1, again[0].polygon1)
    np.testing.assert_array_equal(extent.outline0, other.outline0)


def test_object_ends_where_agreement_ends(front):
    """Matches in the middle of the print are enough, and what is covered is left out."""
    page = front.copy()
    page[:, :50] = np.random.default_rng(5).integers(0, 255, (SIDE, 50, 3))
    found = look_between(front, photograph(page), *list_matches(low=45.0, high=SIDE - 45.0))
    extent, completeness = found.look_around(None)
    assert completeness is None  # without a frame
    inside = opencv.fill_polygons((SIDE, SIDE), [extent.outline0])
    assert inside[60:160, 70:190].mean() > 0.9
    assert inside[:, :30].mean() < 0.2
    np.testing.assert_allclose(apply_transform(VIEW, extent.outline0), extent.outline1, atol=7, rtol=0)


def test_places_of_one_picture_are_told_by_resemblance(front):
    page = np.concatenate([front, crops()["coffee"], front], axis=1)
    xy0, _ = list_matches()
    true = look_between(page, page, xy0, xy0 + np.array([2 * SIDE, 0]), same_picture=True)
    false = look_between(page, page, xy0, xy0 + np.array([SIDE, 0]), same_picture=True)
    assert true.existence.share > 0.95
    assert true.existence.verdict is Verdict.OBJECT
    assert false.existence.share < 0.5
    assert false.existence.verdict is Verdict.NONE


def test_hidden_part_is_not_looked_at(front, altered):
    shown = np.ones((SIDE, SIDE), bool)
    shown[75:135, 85:155] = False
    found = look_between(front, photograph(altered), *list_matches(), shown0=shown)
    assert found.existence.verdict is Verdict.OBJECT
    assert not found.compare().differences


@pytest.mark.parametrize("n", [1, 2, 3, 8])
def test_few_matches_or_matches_at_one_place_break_nothing(front, n):
    scene = photograph(front)
    xy0, xy1 = list_matches(n)
    for ends in ((xy0, xy1), (xy0[:1].repeat(n, axis=0), xy1[:1].repeat(n, axis=0))):
        found = look_between(front, scene, *ends)
        assert isinstance(found.existence.verdict, Verdict)
        assert found.compare().is_same in (True, False, None)
        assert np.isfinite(found.look_around(None)[0].outline0).all()


def test_flat_pictures_tell_nothing():
    flat = np.full((SIDE, SIDE, 3), 128, np.uint8)
    xy0, _ = list_matches()
    found = look_between(flat, flat, xy0, xy0 + 1.0)
    assert found.existence.verdict is Verdict.NONE
    assert np.isnan(found.existence.significance)
    again = look_between(flat, flat, xy0, xy0 + 1.0, same_picture=True)
    assert again.existence.verdict is Verdict.NONE
    assert np.isnan(again.existence.log_nfa)


def test_altered_place_is_found_in_a_softer_scene(front, altered):
    """Both pictures are made equally sharp before their colours are compared."""
    xy0, xy1 = list_matches()
    soft = opencv.gaussian_blur(photograph(altered).astype(np.float32), 1.5).astype(np.uint8)
    found = look_between(front, soft, xy0, xy1)
    assert found.compare().is_same is False
    copy = opencv.gaussian_blur(photograph(front).astype(np.float32), 1.5).astype(np.uint8)
    assert look_between(front, copy, xy0, xy1).compare().is_same is not False


def test_glare_that_hides_print_leaves_open_whether_both_are_the_same(front):
    scene = photograph(front).astype(float)
    y, x = np.indices(SCENE)
    spot = 300 * np.exp(-(((x - 190) / 25) ** 2 + ((y - 150) / 20) ** 2))
    xy0, xy1 = list_matches()
    found = look_between(front, np.clip(scene + spot[..., None], 0, 255).astype(np.uint8), xy0, xy1).compare()
    assert found.differences == ()
    assert found.is_same is None
    assert found.smallest_difference > 30  # as large as what is hidden


def draw_row(words, seed):
    """A row of letters, given by their numbers, 20 pixels apart, on a ground of other print, with noise."""
    rng = np.random.default_rng(seed)
    page = np.full((120, 360, 3), 235.0)
    page[:40] = page[80:] = np.kron(rng.integers(40, 220, (10, 90, 1)), np.ones((4, 4, 3)))
    alphabet = np.random.default_rng(0).integers(0, 2, (12, 8, 5)).astype(bool)
    for k, word in enumerate(words):
        page[48:72, 22 + 20 * k : 37 + 20 * k][np.kron(alphabet[word], np.ones((3, 3), bool))] = 30
    page = opencv.gaussian_blur(page.astype(np.float32), 0.7) + rng.normal(0, 6, page.shape)
    return np.clip(page, 0, 255).astype(np.uint8)


def list_corners_of_letters():
    """Points on the middle letters of a row."""
    x, y = np.meshgrid(20 * np.arange(4, 12)[:, None] + [22.0, 27, 32, 37], [48.0, 60.0, 72.0])
    return np.column_stack([x.ravel(), y.ravel()])


@pytest.mark.parametrize("period", [-20.0, 20.0, 40.0])
def test_row_of_alike_letters_moved_by_a_period_is_no_object(period):
    """It agrees as well one period farther."""
    first, second = draw_row([3] * 16, 1), draw_row([3] * 16, 2)
    xy = list_corners_of_letters()
    found = look_between(first, second, xy, xy + np.array([period, 0.0]))
    assert found.existence.verdict is not Verdict.OBJECT


def test_row_of_different_letters_is_an_object_at_its_place_alone():
    words = np.random.default_rng(4).integers(0, 12, 16).tolist()
    first, second = draw_row(words, 1), draw_row(words, 2)
    xy = list_corners_of_letters()
    assert look_between(first, second, xy, xy).existence.verdict is Verdict.OBJECT
    moved = look_between(first, second, xy, xy + np.array([20.0, 0.0]))
    assert moved.existence.verdict is Verdict.NONE


# Maps of a print, factors of its colours, and how much darker the right of the picture is
ORACLES = {
    "moved": ([[1.0, 0.0, 81.0], [0.0, 1.0, 63.0], [0.0, 0.0, 1.0]], (1.0, 1.0, 1.0), 0.0),
    "turned and dim": ([[0.87, -0.5, 180.0], [0.5, 0.87, 40.0], [0.0, 0.0, 1.0]], (0.6, 0.6, 0.6), 0.0),
    "tilted in warm light": (VIEW.tolist(), (0.9, 0.8, 0.6), 0.0),
    "smaller in a shade": (
        [[0.7, 0.1, 120.0], [-0.05, 0.75, 80.0], [2e-4, -1e-4, 1.0]],
        (0.95, 0.95, 0.95),
        0.4,
    ),
}


def lay(print_, view, light, shade):
    """A print laid onto a photograph by a homography, in another light, with noise."""
    scene = opencv.resize_area(crops()["chelsea"], *SCENE[::-1]).astype(np.float32)
    y, x = np.indices(SCENE)
    back = apply_transform(np.linalg.inv(view), np.stack([x, y], 2).reshape(-1, 2).astype(float))
    back = back.reshape(*SCENE, 2)
    inside = ((back >= -0.5) & (back <= SIDE - 0.5)).all(axis=2)
    scene[inside] = opencv.sample(print_, np.clip(back, 0, SIDE - 1))[inside]
    lit = scene * np.array(light) * (1 - shade * x / SCENE[1])[..., None]
    noise = np.random.default_rng(0).normal(0, 2, scene.shape)
    return np.clip(opencv.gaussian_blur(lit.astype(np.float32), 0.6) + noise, 0, 255).astype(np.uint8)


@pytest.mark.parametrize("is_altered", [False, True], ids=["same", "altered"])
@pytest.mark.parametrize("name", ORACLES)
def test_known_pair_is_measured_right(name, is_altered):
    """Of a print of 220 x 220 px, the 56 x 48 px at (120, 30) are altered."""
    matrix, light, shade = ORACLES[name]
    view = np.array(matrix)
    front = np.dstack([skimage.data.gravel()[:SIDE, :SIDE]] * 3)  # with print everywhere
    page, xy0 = front.copy(), np.random.default_rng(1).uniform(8, SIDE - 9, (90, 2))
    if is_altered:
        page[30:78, 120:176] = crops()["rocket"][110:158, 60:116]
        xy0 = xy0[~((xy0 > [118, 28]) & (xy0 < [178, 80])).all(axis=1)]
    xy1 = apply_transform(view, xy0) + np.random.default_rng(2).normal(0, 0.4, xy0.shape)
    found = look_between(front, lay(page, view, light, shade), xy0, xy1)
    assert found.existence.verdict is Verdict.OBJECT
    assert found.compare().is_same is not is_altered
    for one in found.compare().differences:
        polygon, box = shapely.Polygon(one.polygon0).buffer(0), shapely.box(120, 30, 175, 77)
        assert polygon.intersection(box).area / polygon.union(box).area > 0.6
    assert len(found.compare().differences) == is_altered
    corners = np.array([[0.0, 0.0], [SIDE - 1, 0], [SIDE - 1, SIDE - 1], [0, SIDE - 1]])
    frames = corners, apply_transform(view, corners)
    extent, completeness = found.look_around(frames)
    for outline, frame in zip((extent.outline0, extent.outline1), frames, strict=True):
        seen, truth = shapely.Polygon(outline).buffer(0), shapely.Polygon(frame)
        assert seen.symmetric_difference(truth).area / truth.length < 3  # pixels, on average
    assert completeness.visible == pytest.approx(1, abs=0.01)
    assert completeness.value == pytest.approx(1 - is_altered * 56 * 48 / SIDE**2, abs=0.03)
