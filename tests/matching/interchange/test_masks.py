import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from matching import InputError
from matching.cli.main import main
from matching.interchange.masks import draw_moved, write_masks
from matching.interchange.records import PairMatches
from matching.output.exchange import SCHEMA

SIZE = 300, 400  # height, width


def pair(shift=-60.0, names=("a/0.png", "1.png")):
    """A scene with depth before a camera that moves to the right, and a box in it that goes up or down."""
    rng = np.random.default_rng(0)
    room = rng.uniform((5, 5), (390, 290), (200, 2))
    room = room[(room[:, 0] < 140) | (room[:, 0] > 260) | (room[:, 1] < 140)]
    box = rng.uniform((150, 150), (250, 250), (80, 2))
    depth = rng.uniform(1, 2, len(room))
    xy1 = np.vstack([room - np.column_stack([20 / depth, 0 * depth]), box + np.array([-14, shift])])
    xy0 = np.vstack([room, box])
    xy1 += rng.normal(0, 0.2, xy1.shape)
    cluster = np.repeat([0, 1], [len(room), len(box)])
    return PairMatches(xy0, xy1, names=names, sizes=(SIZE, SIZE)), cluster


def test_moved_objects_are_black(tmp_path):
    assert write_masks(tmp_path / "m", [pair()]) == 2
    masks = [np.asarray(Image.open(tmp_path / "m" / name)) for name in ("a/0.png.png", "1.png.png")]
    for mask, top in zip(masks, (150, 90), strict=True):
        assert mask.shape == SIZE and mask.dtype == np.uint8
        assert set(np.unique(mask)) == {0, 255}
        black = np.argwhere(mask == 0)
        assert abs(black.min(axis=0)[0] - top) < 8 and abs(black.max(axis=0)[0] - top - 100) < 8


def test_pixel_is_masked_if_it_moved_in_most_pairs():
    square = np.array([[10.0, 10], [50, 10], [50, 50], [10, 50]])
    moved, still, neither = ([square], []), ([], [square]), ([], [])
    assert draw_moved(SIZE, [moved, neither]).sum() == 41 * 41
    assert not draw_moved(SIZE, [moved, still]).any()
    assert draw_moved(SIZE, [moved, still, moved])[30, 30]
    assert draw_moved(SIZE, [([square], [3 * square])])[30, 30]  # what is around it encloses it


def test_all_images_have_a_mask(tmp_path):
    still, cluster = pair()
    write_masks(
        tmp_path / "m", [(still, np.where(cluster == 1, -1, cluster)), (still, np.full(len(still), -1))]
    )
    assert (np.asarray(Image.open(tmp_path / "m" / "1.png.png")) == 255).all()


def test_unusable_folders_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"\.\./0\.png: must be a relative name of a picture"):
        write_masks(tmp_path / "m", [pair(names=("../0.png", "1.png"))])
    assert not list(tmp_path.iterdir())


def test_pycolmap_ignores_masked_pixels(tmp_path, monkeypatch, capsys):
    pycolmap = pytest.importorskip("pycolmap")
    monkeypatch.chdir(tmp_path)
    given, _ = pair()
    with closing(sqlite3.connect("a.db")) as file:
        file.executescript(SCHEMA)
        for k, (name, xy) in enumerate(zip(given.names, (given.xy0, given.xy1), strict=True), 1):
            data = (xy + 0.5).astype(np.float32)
            file.execute("INSERT INTO cameras VALUES (?, 2, 400, 300, ?, 0)", (k, np.ones(4).tobytes()))
            file.execute("INSERT INTO images VALUES (?, ?, ?)", (k, name, k))
            file.execute("INSERT INTO keypoints VALUES (?, ?, 2, ?)", (k, len(data), data.tobytes()))
        matches = np.repeat(np.arange(len(given), dtype=np.uint32)[:, None], 2, axis=1)
        file.execute("INSERT INTO matches VALUES (?, ?, 2, ?)", (2**31 + 1, len(given), matches.tobytes()))
        file.commit()
    command = ["group", "a.db", "--masks", "m", "--out", "o", "--quiet", "--no-figure"]
    assert main(command) == 0
    assert main(command) == 2
    assert "--masks m: is not empty; choose a new or empty folder" in capsys.readouterr().err
    noise = np.random.default_rng(1).integers(0, 256, (75, 100)).astype(np.uint8)
    Path("images/a").mkdir(parents=True)
    for name in given.names:
        Image.fromarray(noise).resize((400, 300)).save(f"images/{name}")
    reader = pycolmap.ImageReaderOptions()
    reader.mask_path = "m"
    pycolmap.extract_features("b.db", "images", reader_options=reader)
    with pycolmap.Database.open("b.db") as file:
        image = next(image for image in file.read_all_images() if image.name == "a/0.png")
        xy = file.read_keypoints(image.image_id)[:, :2]
    mask = np.asarray(Image.open("m/a/0.png.png"))
    assert len(xy) > 50 and (mask == 0).any()
    assert (mask[tuple(np.floor(xy).astype(int).T[::-1])] == 255).all()
