import os
from itertools import permutations

import numpy as np
import pytest
import skimage.data
from PIL import Image, ImageFilter

from matching.collection.reports import originals
from matching.collection.reports.originals import LOOKED_AT, Look, Shot, choose_original, look_at

NAMES = ("coffee", "chelsea", "astronaut")


@pytest.fixture(params=NAMES)
def shots(request, tmp_path):
    """A photograph and what was made of it, by name; the photograph's is the last."""
    photograph = Image.fromarray(getattr(skimage.data, request.param)()[:200, :300])
    made = {
        "a.jpg": photograph.convert("L"),
        "b.png": photograph.convert("L").convert("RGB"),
        "c.png": photograph.filter(ImageFilter.GaussianBlur(1)),
        "d.png": photograph.resize((150, 100)),
        "e.png": photograph.resize((150, 100)).resize((300, 200)),
        "f.jpg": photograph,
        "z.png": photograph,
    }
    for name, image in made.items():
        image.save(tmp_path / name, **({"quality": 60} if name == "f.jpg" else {}))
    return {
        name: Shot(k, str(tmp_path / name), image.width * image.height)
        for k, (name, image) in enumerate(made.items())
    }


def test_what_a_file_looks_like(shots, tmp_path):
    looks = {name: look_at(shot.path) for name, shot in shots.items()}
    assert [name for name, look in looks.items() if not look.is_coloured] == ["a.jpg", "b.png"]
    sharp = {name: look.sharpness / looks["z.png"].sharpness for name, look in looks.items()}
    assert min(sharp[name] for name in ("a.jpg", "b.png", "f.jpg")) > 0.75
    assert max(sharp[name] for name in ("c.png", "e.png")) < 0.6
    assert look_at(str(tmp_path / "none.png")) == Look(0.0, False)


def test_the_largest_sharpest_coloured_is_the_original(shots):
    chosen = [shots[name] for name in ("a.jpg", "c.png", "d.png", "e.png", "z.png")]
    for order in permutations(chosen):
        assert choose_original(order) is shots["z.png"]
    assert choose_original(list(shots.values())[::-1]) is shots["z.png"]  # not what was compressed more
    assert choose_original([shots[name] for name in ("a.jpg", "b.png", "c.png")]) is shots["b.png"]
    assert choose_original([shots["d.png"]]) is shots["d.png"]


def test_few_files_are_read(monkeypatch):
    read = []
    monkeypatch.setattr(originals, "look_at", lambda path: read.append(path) or Look(0.0, False))
    shots = [Shot(k, f"none{os.sep}{k:04}.jpg", 100) for k in range(3 * LOOKED_AT)]
    assert choose_original(shots[::-1]) is shots[0]
    assert np.array_equal(read, [s.path for s in shots[:LOOKED_AT]])
