"""What differs at the pixels: the residual by its definition, glare, and the size that is stated."""

import numpy as np
import pytest
import skimage.data
from planting import crops

import matching.agreement.look as looks
from matching import match
from matching._common import opencv
from matching.agreement._residual_kernels import measure_unlike
from matching.agreement.closeup import Closeup
from matching.agreement.glare import has_step
from matching.agreement.look import look_between
from matching.agreement.places import find_places
from matching.agreement.residual import MIN_NOISE, Residual, _measure_noise

SIDE = 220
XY = np.random.default_rng(1).uniform(4, SIDE - 5, (90, 2))


def test_residual_is_to_the_nearest_pixel_both_ways():
    rng = np.random.default_rng(0)
    a, b = rng.uniform(0, 255, (2, 3, 8, 9)).astype(np.float32)
    out = np.empty((6, 7), np.float32)
    measure_unlike(a, b, out)

    def nearest(one, two, y, x):
        around = two[:, y - 1 : y + 2, x - 1 : x + 2].reshape(3, 9)
        return np.abs(one[:, y, x, None] - around).max(axis=0).min()

    expected = [[max(nearest(a, b, y, x), nearest(b, a, y, x)) for x in range(1, 8)] for y in range(1, 7)]
    np.testing.assert_allclose(out, expected, rtol=1e-6)


def test_noise_grows_with_the_gradient_and_not_with_what_differs():
    gradient = np.linspace(0, 24, 24_000, dtype=np.float32).reshape(120, 200)
    unlike = gradient.copy()
    use = np.ones(gradient.shape, bool)
    noise = _measure_noise(unlike, gradient, use)
    assert (np.diff(noise.ravel()) >= 0).all()
    assert noise.max() == pytest.approx(24, rel=0.05)
    unlike[:10] = 100  # the lowest gradients differ
    assert _measure_noise(unlike, gradient, use)[0, 0] <= MIN_NOISE * 4


def test_nothing_is_compared_until_the_answer_is_read(monkeypatch):
    compared = []

    def count(*ends, **more):
        compared.append(ends)
        return compare(*ends, **more)

    compare = looks.compare
    monkeypatch.setattr(looks, "compare", count)
    print_ = crops()["coffee"]
    altered = print_.copy()
    altered[80:130, 60:110] = crops()["rocket"][20:70, 20:70]
    result = match(print_, altered)
    _ = result.confidence, result.things, result.polygons(), result.objects[0].motion
    assert not compared
    assert result.objects[0].is_same is False
    assert result.things[0].alike == (0,)
    assert result.objects[0].differences
    assert len(compared) == 1


@pytest.mark.parametrize("blur", [0.5, 1.0, 1.6])
@pytest.mark.parametrize("scale", [1.0, 1.4])
def test_altered_places_larger_than_stated_are_told(blur, scale):
    rng = np.random.default_rng([int(10 * blur), int(10 * scale)])
    page = np.dstack([skimage.data.page()[:180, :SIDE]] * 3)
    size = tuple(round(scale * n) for n in page.shape[1::-1])

    def photograph(print_):
        large = opencv.resize(print_.astype(np.float32), scale)
        soft = opencv.gaussian_blur(large, blur) + rng.normal(0, 2, large.shape)
        return np.clip(soft, 0, 255).astype(np.uint8)

    xy = XY * [1, 180 / SIDE]
    stated = look_between(page, photograph(page), xy, (xy + 0.5) * scale - 0.5).compare()
    assert size == photograph(page).shape[1::-1]
    assert not stated.differences
    assert stated.smallest_difference < 40
    side, told, n = int(np.ceil(stated.smallest_difference)) + 1, 0, 20
    grey = page[..., 0].astype(np.float32)
    rows, columns = np.nonzero((opencv.gaussian_blur(grey, 14.0) - grey)[20:-40, 20:-40] > 40)
    for k in rng.integers(0, len(rows), n):
        y, x = rows[k] + 20 - side // 2, columns[k] + 20 - side // 2
        altered = page.copy()
        altered[y : y + side, x : x + side] = np.median(
            page[y - 6 : y + side + 6, x - 6 : x + side + 6], axis=(0, 1)
        )
        found = look_between(page, photograph(altered), xy, (xy + 0.5) * scale - 0.5).compare()
        told += any(
            np.abs(one.polygon0.mean(axis=0) - [x + side / 2, y + side / 2]).max() < side
            for one in found.differences
        )
    assert told >= 0.95 * n


def test_grey_version_is_the_same_in_grey():
    print_ = crops()["coffee"]
    grey = np.repeat(print_.mean(axis=2, keepdims=True).astype(np.uint8), 3, axis=2)
    found = look_between(print_, grey, XY, XY).compare()
    assert found.appearance == ("in grey",)
    assert not found.differences
    assert look_between(grey, print_, XY, XY).compare().appearance == ()


def test_softer_version_says_so():
    print_ = crops()["coffee"]
    soft = opencv.gaussian_blur(print_.astype(np.float32), 1.6).astype(np.uint8)
    assert look_between(print_, soft, XY, XY).compare().appearance == ("less sharp",)
    assert look_between(soft, print_, XY, XY).compare().appearance == ("sharper",)


def test_exposure_and_another_colour_are_named():
    print_ = crops()["coffee"]
    dark = look_between(print_, (print_ * 0.5).astype(np.uint8), XY, XY).compare()
    assert (dark.appearance, dark.is_same) == (("darker",), True)
    assert look_between((print_ * 0.5).astype(np.uint8), print_, XY, XY).compare().appearance == ("brighter",)
    turned = look_between(print_, np.ascontiguousarray(print_[..., [2, 0, 1]]), XY, XY).compare()
    assert "in another colour" in turned.appearance
    assert turned.is_same is False


def test_band_of_another_grey_is_no_light():
    page = np.full((180, SIDE, 3), 236, np.uint8)
    page[20:160:12, 20:60] = 40
    banded = page.copy()
    banded[60:130][banded[60:130] == 236] = 228
    rows = np.arange(180)[:, None, None]
    lit = (page * (1 - 0.06 * np.exp(-(((rows - 90) / 40) ** 2)))).astype(np.uint8)
    whole = np.ones(page.shape[:2], bool)
    first, *others = (image.astype(np.float32) for image in (page, banded, lit))
    assert [has_step((first, other), whole) for other in others] == [True, False]


def test_what_may_be_a_place_counts_together():
    rng = np.random.default_rng(0)
    print_ = rng.integers(0, 255, (120, 120, 3)).astype(np.float32)
    whole = np.ones((120, 120), bool)
    xy = np.zeros((120, 120, 2), np.float32)
    pair = Closeup(print_, print_, whole, whole, whole, whole, ~whole, xy, xy, 1.0, False)

    def look(n, unlike):
        map_ = np.zeros((120, 120), np.float32)
        for k in range(n):
            map_[20 + 30 * (k // 3) :, 20 + 30 * (k % 3) :][:9, :9] = unlike
        return find_places(pair, Residual(map_, map_, map_, map_, map_, ~whole, False, (0.0, 0.0)))

    assert look(1, 4.0) == ([], 0.0)
    assert [look(5, 4.0)[1], look(1, 5.0)[1]] == pytest.approx([9, 9], abs=1.5)
    assert not look(5, 4.0)[0]
    assert len(look(1, 9.0)[0]) == 1


@pytest.mark.parametrize("side", [12, 30])
def test_differences_have_their_true_size(side):
    print_ = crops()["coffee"]
    altered = print_.copy()
    altered[90 : 90 + side, 100 : 100 + side] = 255 - print_[90 : 90 + side, 100 : 100 + side].mean(
        axis=(0, 1)
    )
    [found] = match(print_, altered).objects
    [difference] = found.differences
    assert difference.size == pytest.approx(side, abs=3)
    low, high = difference.polygon0.min(axis=0), difference.polygon0.max(axis=0)
    np.testing.assert_allclose([low, high], [(100, 90), (99 + side, 89 + side)], atol=3)


@pytest.mark.parametrize(("x", "n_places"), [(70, 0), (64, 0), (50, 1)])
def test_what_lies_at_the_end_of_the_outline_is_no_difference(x, n_places):
    """The outline ends at x = 90, and the matches at x = 60."""
    print_ = np.zeros((120, 120, 3), np.float32)
    whole = np.ones((120, 120), bool)
    outline, between = (whole & (np.arange(120) < end) for end in (90, 60))
    xy = np.zeros((120, 120, 2), np.float32)
    pair = Closeup(print_, print_, whole, outline, outline, between, ~outline, xy, xy, 1.0, False)
    map_ = np.zeros((120, 120), np.float32)
    map_[50:65, x : 2 * x - 30 if x < 60 else 86] = 12.0
    places, side = find_places(pair, Residual(map_, map_, map_, map_, map_, ~whole, False, (0.0, 0.0)))
    assert (len(places), side) == (n_places, 0.0)


def test_solid_things_seen_from_two_sides_cannot_be_told():
    left, right, _ = skimage.data.stereo_motorcycle()
    objects = match(left, right).objects
    assert objects
    assert all(found.is_same is None for found in objects)


def test_prints_of_one_strong_colour_each_are_no_grey_versions():
    grey = crops()["coffee"].mean(axis=2, keepdims=True)
    red, green = ((grey * tint).astype(np.uint8) for tint in ([1, 0.1, 0.1], [0.1, 1, 0.1]))
    found = look_between(red, green, XY, XY).compare()
    assert "in another colour" in found.appearance
    assert found.is_same is False
