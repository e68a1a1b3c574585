import numpy as np
import pytest
import skimage.data
from PIL import Image

from synth.photographs import (
    _SHIPPED_MODELS,
    _SHIPPED_TILES,
    read_folder,
    read_folders,
    read_picture,
    read_shipped,
)


def test_shipped_photographs_suffice_for_every_composite():
    photographs = read_shipped()
    assert len(photographs.models) >= 5 and len(photographs.tiles) >= 17
    for picture in photographs.models + photographs.tiles:
        assert (
            picture.dtype == np.uint8
            and picture.shape[0] == picture.shape[1] >= 250
            and picture.shape[2] == 3
        )
        assert picture.std() > 5


def test_crops_of_one_photograph_do_not_overlap():
    entries = _SHIPPED_MODELS + _SHIPPED_TILES
    for i, (file, x, y, side) in enumerate(entries):
        for other, x2, y2, side2 in entries[:i]:
            apart = x + side <= x2 or x2 + side2 <= x or y + side <= y2 or y2 + side2 <= y
            assert file != other or apart, (file, x, y)
    assert not {m[0] for m in _SHIPPED_MODELS} & {t[0] for t in _SHIPPED_TILES}


def test_colours_are_read_as_red_green_blue():
    assert np.array_equal(read_picture(f"{skimage.data.__path__[0]}/astronaut.png"), skimage.data.astronaut())


def test_folders_are_read_in_order_and_other_files_left_alone(tmp_path):
    for name, value in (("b.png", 20), ("a.PNG", 10)):
        Image.fromarray(np.full((4, 5, 3), value, np.uint8)).save(tmp_path / name)
    (tmp_path / "notes.txt").write_text("no image")
    assert [p[0, 0, 0] for p in read_folder(tmp_path)] == [10, 20]
    assert read_folders(tmp_path, tmp_path).name == f"{tmp_path.name}+{tmp_path.name}"


def test_bad_folders(tmp_path):
    with pytest.raises(ValueError, match="must be a folder of images"):
        read_folder(tmp_path / "none")
    with pytest.raises(ValueError, match="must hold images"):
        read_folder(tmp_path)
    (tmp_path / "broken.png").write_bytes(b"not a picture")
    with pytest.raises(ValueError, match=r"broken\.png must be an image file"):
        read_folder(tmp_path)
    (tmp_path / "broken.png").write_bytes(b"")
    with pytest.raises(ValueError, match=r"broken\.png must be an image file"):
        read_folder(tmp_path)
