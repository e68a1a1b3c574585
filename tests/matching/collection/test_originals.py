from itertools import permutations

import numpy as np
import pytest
import skimage.data
from PIL import Image, ImageFilter

from matching.collection.reports.originals import LOOKED_AT, Shot, choose_original, is_coloured


@pytest.fixture
def files(tmp_path):
    """A photograph and what was made of it; the photograph's name is the last."""
    photograph = Image.fromarray(skimage.data.coffee()[:200, :300])
    made = {
        "a.jpg": photograph.convert("L"),
        "b.png": photograph.convert("L").convert("RGB"),
        "c.jpg": photograph.filter(ImageFilter.GaussianBlur(3)),
        "d.png": photograph.resize((150, 100)),
        "z.jpg": photograph,
    }
    for name, image in made.items():
        image.save(tmp_path / name)
    return {name: str(tmp_path / name) for name in made}


def test_colour_is_seen_in_the_file(files, tmp_path):
    assert [is_coloured(path) for path in files.values()] == [False, False, True, True, True]
    assert not is_coloured(str(tmp_path / "none.png"))
    (tmp_path / "bad.jpg").write_bytes(b"\xff\xd8\xff no picture")
    assert not is_coloured(str(tmp_path / "bad.jpg"))


def test_the_largest_sharpest_coloured_is_the_original(files):
    counts = {"a.jpg": 1010, "b.png": 1000, "c.jpg": 300, "d.png": 1400, "z.jpg": 980}
    shots = [
        Shot(k, files[name], 150 * 100 if name == "d.png" else 60000, n)
        for k, (name, n) in enumerate(counts.items())
    ]
    for order in permutations(shots):
        assert choose_original(order).path == files["z.jpg"]
    assert choose_original([s for s in shots if s.path != files["z.jpg"]]).path == files["a.jpg"]
    assert choose_original(shots[3:4]) is shots[3]


def test_few_files_are_read(monkeypatch):
    read = []
    monkeypatch.setattr("matching.collection.reports.originals.is_coloured", read.append)
    shots = [Shot(k, f"{k:04}.jpg", 100, 50) for k in range(3 * LOOKED_AT)]
    assert choose_original(shots[::-1]).path == "0000.jpg"
    assert len(read) == LOOKED_AT
    assert np.array_equal(read, [s.path for s in shots[:LOOKED_AT]])
