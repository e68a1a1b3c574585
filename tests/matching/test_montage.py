from io import BytesIO

import numpy as np
import pytest
import skimage.data
from PIL import Image
from planting import crops

from matching.errors import InputError
from matching.images import picture_of_array
from matching.montage import MAX_CELLS, MontageConfig, montage_cells, seams


def grey(picture):
    return picture_of_array(picture).grey


@pytest.mark.parametrize("name", ["astronaut", "camera", "chelsea", "coffee", "rocket"])
def test_a_photograph_has_no_seams(name):
    photograph = grey(getattr(skimage.data, name)())
    assert [len(found) for found in seams(photograph)] == [0, 0]
    assert not montage_cells(photograph, np.array([[3.0, 4.0], [100.0, 200.0]])).any()


def test_two_photographs_side_by_side():
    c = crops(200)
    picture = grey(np.hstack([c["astronaut"], c["coffee"][:, :150]]))
    assert [list(found) for found in seams(picture)] == [[199.5], []]
    xy = np.array([[0.0, 50], [199, 50], [200, 50], [349, 199]])
    assert list(montage_cells(picture, xy)) == [0, 0, 1, 1]


def test_every_tile_is_a_cell_of_its_own():
    c = list(crops(150).values())
    names = [[0, 1, 2], [3, 0, 1], [2, 3, 0]]
    picture = grey(np.vstack([np.hstack([c[k] for k in row]) for row in names]))
    assert [list(found) for found in seams(picture)] == [[149.5, 299.5]] * 2
    xy = np.random.default_rng(0).uniform(0, 449, (500, 2))
    xy = xy[(np.abs(xy - 149.5) > 1).all(axis=1) & (np.abs(xy - 299.5) > 1).all(axis=1)]
    cell = montage_cells(picture, xy)
    column, row = (xy // 149.75).astype(int).T
    assert cell.max() < MAX_CELLS
    assert len(np.unique(cell)) == 9
    for k in range(9):
        assert len(np.unique(cell[3 * row + column == k])) == 1


def collage(gutter):
    """Nine pictures of 150 px, `gutter` pixels of white between them and around all."""
    c, side = list(crops(150).values()), 150 + gutter
    sheet = np.full((3 * side + gutter, 3 * side + gutter, 3), 255, np.uint8)
    for k, start in enumerate((y, x) for y in range(3) for x in range(3)):
        y, x = (side * n + gutter for n in start)
        sheet[y : y + 150, x : x + 150] = c[k % len(c)]
    return sheet


@pytest.mark.parametrize("gutter", [4, 12])
def test_seams_of_a_collage_are_edges_of_its_gutters(gutter):
    for found in seams(grey(collage(gutter))):
        assert len(found) == 2
        for k, at in enumerate(found):
            edges = (k + 1) * (150 + gutter) - 0.5 + np.array([0, gutter])
            assert at in edges


@pytest.mark.parametrize("quality", [5, 10, 20, 40])
def test_blocks_of_a_compressed_picture_are_no_seams(quality):
    for photograph in (skimage.data.coffee(), skimage.data.astronaut(), skimage.data.rocket()):
        file = BytesIO()
        Image.fromarray(photograph).save(file, "JPEG", quality=quality)
        assert [len(found) for found in seams(grey(np.asarray(Image.open(file))))] == [0, 0]


@pytest.mark.parametrize("times", [2, 3, 4, 8])
def test_squares_of_an_enlarged_picture_are_no_seams(times):
    for photograph in (skimage.data.coffee(), skimage.data.astronaut(), skimage.data.rocket()):
        small = photograph[::2, ::2]
        enlarged = np.repeat(np.repeat(small, times, axis=0), times, axis=1)
        assert [len(found) for found in seams(grey(enlarged))] == [0, 0]


def test_no_settings_no_seams():
    c = crops(150)
    picture = grey(np.hstack([c["astronaut"], c["coffee"]]))
    assert not montage_cells(picture, np.array([[10.0, 10], [290, 10]]), None).any()


@pytest.mark.parametrize("shape", [(1, 1), (1, 300), (300, 1), (3, 6), (5, 7), (40, 40)])
def test_flat_and_tiny_pictures(shape):
    assert not montage_cells(np.full(shape, 9, np.uint8), np.zeros((2, 2))).any()
    noise = np.random.default_rng(1).integers(0, 256, shape).astype(np.uint8)
    assert montage_cells(noise, np.zeros((2, 2))).shape == (2,)


@pytest.mark.parametrize("settings", [{"min_cell": 0.1}, {"sharpness": 0}, {"most_lines": float("nan")}])
def test_settings_out_of_range(settings):
    with pytest.raises(InputError, match=f"{next(iter(settings))} must be at least"):
        MontageConfig(**settings)
