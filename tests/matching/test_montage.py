import numpy as np
import pytest
import skimage.data
from planting import crops

from matching.images import picture_of_array
from matching.montage import MAX_CELLS, montage_cells, seams


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


def test_no_settings_no_seams():
    c = crops(150)
    picture = grey(np.hstack([c["astronaut"], c["coffee"]]))
    assert not montage_cells(picture, np.array([[10.0, 10], [290, 10]]), None).any()


@pytest.mark.parametrize("shape", [(1, 1), (1, 300), (300, 1), (3, 6), (5, 7), (40, 40)])
def test_flat_and_tiny_pictures(shape):
    assert not montage_cells(np.full(shape, 9, np.uint8), np.zeros((2, 2))).any()
    noise = np.random.default_rng(1).integers(0, 256, shape).astype(np.uint8)
    assert montage_cells(noise, np.zeros((2, 2))).shape == (2,)
