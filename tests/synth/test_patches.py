"""Photographs of which a patch is copied."""

import numpy as np
import pytest
import skimage.data

from synth.patches import copy_patch


@pytest.mark.parametrize(("angle", "extent"), [(0.0, 40), (90.0, 40), (45.0, 57)])
def test_the_copy_shows_the_patch_and_nothing_else_changes(angle, extent):
    photograph = skimage.data.chelsea()
    page = copy_patch(photograph, np.random.default_rng(0), 40, angle)
    ((x, y, *side), (left, top, *size)) = page.things[0]
    assert side == [40, 40] and abs(size[0] - extent) <= 1 and size[0] == size[1]
    patch, copy = photograph[y : y + 40, x : x + 40], page.picture[top : top + size[1], left : left + size[0]]
    if angle != 45:
        turned = np.rot90(patch, -round(angle / 90))
        assert np.abs(copy[:40, :40].astype(int) - turned).max() <= 2
    outside = np.ones(photograph.shape[:2], bool)
    outside[top : top + size[1], left : left + size[0]] = False
    assert np.array_equal(page.picture[outside], photograph[outside])
    assert outside[y : y + 40, x : x + 40].all()


def test_an_edge_fades_into_its_surroundings():
    photograph = skimage.data.chelsea()
    sharp, faded = (copy_patch(photograph, np.random.default_rng(0), 40, fade=fade) for fade in (0, 0.2))
    assert sharp.things == faded.things
    _, (x, y, w, h) = sharp.things[0]
    changed = [
        np.abs(page.picture.astype(int) - photograph)[y : y + h, x : x + w].sum(axis=2)
        for page in (sharp, faded)
    ]
    assert np.array_equal(changed[0][8:-8, 8:-8], changed[1][8:-8, 8:-8])
    assert changed[1][0].sum() < 0.2 * changed[0][0].sum()


def test_a_patch_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="a patch of 300 px needs a larger photograph than 200 x 100"):
        copy_patch(np.zeros((100, 200, 3), np.uint8), np.random.default_rng(0), 300)
    with pytest.raises(ValueError, match="no room for the copy of a patch of 60 px in 100 x 100"):
        copy_patch(np.zeros((100, 100, 3), np.uint8), np.random.default_rng(0), 60)
