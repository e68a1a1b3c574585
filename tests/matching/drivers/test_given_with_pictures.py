"""Given matches whose pictures are given too: what lies between the matches decides."""

from io import BytesIO

import numpy as np
import pytest
import skimage.data
from PIL import Image
from planting import crops

from matching import InputError, group_matches
from matching.interchange.records import PairMatches

SIZE = 320, 160  # width and height of both pictures


@pytest.fixture(scope="module")
def given():
    """Two pictures whose left halves agree and whose right halves don't, with 120 matches on each half.

    The halves move differently, so they are two objects.
    """
    rng = np.random.default_rng(0)
    cat, coffee, rocket = (crops()[name][:160, :160] for name in ("chelsea", "coffee", "rocket"))
    images = np.hstack([cat, coffee]), np.hstack([cat, rocket])
    xy0 = rng.uniform(10, 150, (240, 2)) + np.repeat([[0.0, 0.0], [160.0, 0.0]], 120, axis=0)
    xy1 = xy0.copy()
    xy1[120:] = (xy0[120:] - [240, 80]) @ np.array([[0.0, 1.0], [-1.0, 0.0]]) + [240, 80]
    return images, xy0, xy1 + rng.normal(0, 0.4, xy1.shape)


def png(image):
    file = BytesIO()
    Image.fromarray(image).save(file, "PNG")
    return file.getvalue()


def test_false_object_is_rejected_and_true_one_is_kept(given):
    images, xy0, xy1 = given
    assert len(group_matches(xy0, xy1).objects) == 2
    result = group_matches(xy0, xy1, image0=images[0], image1=images[1])
    (found,) = result.objects
    assert (found.id, found.is_same, found.confidence) == (0, False, "sure")  # half of the frame differs
    assert found.points0[:, 0].max() < 160
    assert found.frame1 is not None  # the pictures tell their sizes
    (rejected,) = result.rejected
    assert (rejected.step, rejected.reason) == ("agreement", "no-agreement")
    assert rejected.n_matches > 100
    assert rejected.measure < rejected.bound
    assert set(result.dropped_by[result.cluster < 0]) == {"agreement"}
    assert result.cluster.tolist() == [0] * 120 + [-1] * 120
    assert result.draw().ndim == 3


def test_swapped_pictures_give_the_same(given):
    images, xy0, xy1 = given
    result = group_matches(xy0, xy1, image0=images[0], image1=images[1])
    swapped = group_matches(xy1, xy0, image0=images[1], image1=images[0])
    assert np.array_equal(result.cluster, swapped.cluster)
    assert [o.is_same for o in swapped.objects] == [o.is_same for o in result.objects] == [False]


@pytest.mark.parametrize("n", [60, 5000])
def test_differing_place_of_few_and_many_matches_is_reported(n):
    rng = np.random.default_rng(1)
    image0 = crops()["coffee"]
    image1 = image0.copy()
    image1[80:130, 60:110] = crops()["rocket"][20:70, 20:70]
    xy0 = rng.uniform(5, np.array(image0.shape[1::-1]) - 5, (n, 2))
    xy1 = xy0 + rng.normal(0, 0.3, xy0.shape)
    (found,) = group_matches(xy0, xy1, image0=png(image0), image1=png(image1)).objects
    assert found.is_same is False
    (difference,) = found.differences
    low, high = difference.polygon1.min(axis=0), difference.polygon1.max(axis=0)
    assert (low > [36, 54]).all() and (high < [136, 160]).all()


def test_bent_print_is_kept():
    rng = np.random.default_rng(2)
    flat = crops()["coffee"]
    height, width = flat.shape[:2]
    y, x = np.mgrid[:height, :width]
    rows = np.clip(np.rint(y - 6 * np.sin(x / 25)), 0, height - 1).astype(int)
    bent = flat[rows, x]
    xy0 = rng.uniform(10, [width - 10, height - 10], (300, 2))
    xy1 = xy0 + np.stack([np.zeros(300), 6 * np.sin(xy0[:, 0] / 25)], axis=1)
    result = group_matches(xy0, xy1 + rng.normal(0, 0.3, xy1.shape), image0=flat, image1=bent)
    assert [found.is_same is not None for found in result.objects] == [True]
    assert not result.rejected


def test_matches_of_another_program_are_looked_at_by_their_method(given):
    images, xy0, xy1 = given
    sizes = (SIZE[::-1], SIZE[::-1])
    pair = PairMatches(xy0, xy1, sizes=sizes)
    assert len(pair.group().objects) == 2
    assert len(pair.group(image0=images[0], image1=images[1]).objects) == 1
    with pytest.raises(InputError, match="image1: is 320 x 160 pixels, but the matches are of an image of"):
        PairMatches(xy0, xy1, sizes=(sizes[0], (80, 160))).group(image0=images[0], image1=images[1])


def test_pictures_that_cannot_be_used_are_named(given, tmp_path):
    images, xy0, xy1 = given
    with pytest.raises(InputError, match="image1 must be given if the other one is, got None"):
        group_matches(xy0, xy1, image0=images[0])
    with pytest.raises(InputError, match="image0 must be given if the other one is, got None"):
        PairMatches(xy0, xy1).group(image1=images[1])
    with pytest.raises(InputError, match=r"none\.png: no such file"):
        group_matches(xy0, xy1, image0=images[0], image1=tmp_path / "none.png")
    with pytest.raises(InputError, match=r"sizes must be those of the pictures, \(160, 320\) for image1"):
        group_matches(xy0, xy1, sizes=((160, 320), (320, 160)), image0=images[0], image1=images[1])
    with pytest.raises(InputError, match="xy0 must be pixels of image0, 320 x 160, but most points lie out"):
        group_matches(xy0 * 4, xy1, image0=images[0], image1=images[1])


def test_no_matches_have_no_object_in_pictures(given):
    images, _, _ = given
    none = np.empty((0, 2))
    assert group_matches(none, none, image0=images[0], image1=images[1]).objects == ()


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda xy: xy[:, ::-1], "may be rows and columns"),
        (lambda xy: (xy + 0.5) * 0.8 - 0.5, "resized to 320 pixels wide: scale them by 1.25 and 1.25"),
    ],
)
def test_points_that_are_no_pixels_are_told(read, message):
    picture = skimage.data.astronaut()[:400, 56:456]
    xy = np.random.default_rng(3).uniform(5, 395, (300, 2))
    turned, xy1 = np.rot90(picture, -1), np.column_stack([399 - xy[:, 1], xy[:, 0]])
    with pytest.warns(UserWarning, match=message):
        result = group_matches(read(xy), read(xy1), image0=picture, image1=turned)
    assert not result.objects
