import numpy as np
import pytest
import skimage.data

from matching._common import opencv
from matching.pictures.contrast import has_one_colour, raise_contrast, to_eight_bits
from matching.pictures.images import make_picture_of_array

GREY = skimage.data.coffee()[100:160, 200:290, 1].copy()  # (60, 90)


@pytest.mark.parametrize(
    ("kind", "fills"),
    [
        *(("float32", fills) for fills in [(-9999,), (-3.4e38,), (1e20,), (-9999, 3.4e38), (-1e30, 1e20)]),
        ("float64", (-1.7e308,)),
        ("int16", (-32768,)),
        ("uint16", (65535,)),
    ],
)
def test_single_extreme_value_does_not_reduce_contrast(kind, fills):
    array = GREY.astype(kind) * np.array(3, kind) + np.array(500, kind)
    whole = to_eight_bits(array)
    filled = array.copy()
    for k, fill in enumerate(fills):
        filled[10 * k : 10 * k + 8] = fill
    found = to_eight_bits(filled)[20:]
    assert np.abs(found.astype(int) - whole[20:]).max() <= 12
    assert np.corrcoef(found.ravel(), array[20:].ravel())[0, 1] > 0.999


def test_few_levels_are_not_treated_as_fill():
    levels = np.array([0, 30000, 65535], np.uint16)[np.arange(900).reshape(30, 30) % 3]
    assert len(np.unique(to_eight_bits(levels))) == 3
    assert sorted(np.unique(to_eight_bits(levels * np.uint16(1) // 65535))) == [0, 255]


def flat(share, middle=110):
    """A colour picture with a share of its contrast."""
    rgb = skimage.data.coffee()[::2, ::2].astype(float)
    return np.rint(middle + share * (rgb - middle)).astype(np.uint8)


def test_flat_pictures_are_stretched_to_all_levels():
    whole = make_picture_of_array(flat(1.0)).grey
    assert np.array_equal(whole, opencv.luma(flat(1.0)))  # as it is
    assert np.array_equal(make_picture_of_array(flat(0.6)).grey, opencv.luma(flat(0.6)))
    for share, error in ((0.4, 2), (0.15, 3), (0.06, 6)):
        raised = make_picture_of_array(flat(share)).grey.astype(float)
        assert np.ptp(raised) >= 250
        like = np.polyval(np.polyfit(raised.ravel(), whole.ravel(), 1), raised)
        assert np.abs(like - whole).mean() < error
    coarse = 255 / np.ptp(opencv.luma(flat(0.06)).astype(float))
    assert len(np.unique(make_picture_of_array(flat(0.06)).grey)) > 2 * 255 / coarse  # finer than 8-bit luma


def test_contrast_is_measured_inside_the_mask():
    grey = flat(0.15)[:, :, 1]
    framed = np.pad(grey, 30)
    assert np.ptp(raise_contrast(framed, np.dstack([framed] * 3))[30:-30, 30:-30].astype(int)) < 60
    mask = np.pad(np.ones(grey.shape, bool), 30)
    shown = raise_contrast(framed, np.dstack([framed] * 3), mask)[30:-30, 30:-30]
    assert np.ptp(shown.astype(int)) == 255


def shape(colour, ground=(0, 0, 0), levels=255):
    """A disc of one colour: RGBA; its edge is half transparent, `ground` lies beneath."""
    y, x = np.mgrid[:40, :50]
    far = np.hypot(x - 25, y - 20)
    alpha = np.clip(15.5 - far, 0, 1)
    rgb = np.where((alpha > 0)[:, :, None], colour, ground)
    return np.dstack([rgb / 255 * levels, alpha * levels])


@pytest.mark.parametrize(("kind", "levels"), [("uint8", 255), ("float64", 1.0), ("uint16", 65535)])
@pytest.mark.parametrize(("colour", "ground"), [((0, 0, 0), 255), ((200, 20, 10), 255), ((250, 240, 250), 0)])
def test_a_drawing_in_one_colour_is_shown_by_its_alpha(colour, ground, kind, levels):
    drawn = make_picture_of_array(shape(colour, (9, 99, 30), levels).astype(kind))
    assert drawn.mask is None
    assert (drawn.rgb[0] == ground).all()
    assert (drawn.rgb[20, 25].astype(int) - drawn.rgb[0, 0]).any()
    if kind == "uint8":
        assert np.array_equal(drawn.rgb[20, 25], colour)
        edge = (drawn.rgb[:, :, 0] != colour[0]) & (drawn.rgb[:, :, 0] != ground)
        assert 20 < edge.sum() < 200


def test_a_photograph_that_is_cut_out_keeps_its_mask():
    alpha = np.zeros(GREY.shape, np.uint8)
    alpha[5:50, 9:80] = 255
    rgb = np.repeat(GREY[:, :, None], 3, axis=2)
    assert make_picture_of_array(np.dstack([rgb, alpha])).mask is not None
    assert not has_one_colour(rgb, np.zeros(GREY.shape, bool))
