import json

import numpy as np
import pytest
import skimage.data
import skimage.io
from skimage.transform import rescale

from eval.shelves import ShelfPair, measure, owners, read_shelves, table
from matching import MatchConfig

SQUARE = np.array([[0, 0], [100, 0], [100, 100], [0, 100]], float)


def inside(n, corner=0.0):
    return np.random.default_rng(0).uniform(10, 90, (n, 2)) + corner


def test_an_object_owns_the_instance_that_holds_its_matches():
    pair = ShelfPair(None, None, "shown", ((SQUARE,), (SQUARE + 200,)))
    xy = np.concatenate([inside(10, 200), inside(7), inside(3, 400), inside(5, 400), inside(9)])
    cluster = np.repeat([0, 1, 1, 2, -1], [10, 7, 3, 5, 9])
    assert owners(pair, xy, cluster) == [1, -1, -1]  # 1: 70 % inside


def test_the_artwork_counts_too():
    pair = ShelfPair(None, None, "shown", ((SQUARE, SQUARE + 50),))
    assert owners(pair, inside(10, 50), np.zeros(10, int)) == [0]
    assert owners(ShelfPair(None, None, "clean"), inside(10), np.zeros(10, int)) == [-1]


def instance(model, variant="exact", source="sift", quad_art=None):
    return {
        "model": model,
        "quad": SQUARE.tolist(),
        "quad_art": quad_art,
        "variant": variant,
        "source": source,
    }


@pytest.fixture
def shelves(tmp_path):
    """One scene that shows the cat at half its size beside the coffee."""
    (tmp_path / "models").mkdir()
    (tmp_path / "scenes").mkdir()
    cat, coffee = skimage.data.chelsea()[:300, 100:400], skimage.data.coffee()[60:210, 150:300]
    small = np.uint8(np.round(255 * rescale(cat, 0.5, anti_aliasing=True, channel_axis=2)))
    skimage.io.imsave(tmp_path / "models" / "cat.png", cat)
    skimage.io.imsave(tmp_path / "models" / "rocket.png", skimage.data.rocket()[100:400, 100:400])
    skimage.io.imsave(tmp_path / "scenes" / "shelf.png", np.hstack([coffee, small]))
    quad = [[150, 0], [300, 0], [300, 150], [150, 150]]
    instances = [
        instance("models/cat.png") | {"quad": quad},
        instance("models/rocket.png", variant="promo"),
        instance("models/rocket.png", source="eye"),
    ]
    labels = {
        "scenes": {"scenes/shelf.png": {"instances": instances, "uncertain": []}},
        "negatives": [{"model": "models/rocket.png", "scene": "scenes/shelf.png", "kind": "clean"}],
    }
    (tmp_path / "scenes" / "labels.json").write_text(json.dumps(labels))
    return tmp_path


def test_a_shelf(shelves):
    pairs = read_shelves(shelves)
    assert [(p.model.stem, p.kind, len(p.instances)) for p in pairs] == [
        ("cat", "shown", 1),
        ("rocket", "clean", 0),
    ]
    rows = list(measure(pairs, {"default": MatchConfig()}))
    assert [(row["objects"], row["found"]) for row in rows] == [(1, 1), (0, 0)]
    assert table(rows).splitlines()[-1] == "| default | 1 of 1 | 1 of 1 | 1 of 1 |"


def test_bad_labels_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"labels\.json must hold the labels, found no such file"):
        read_shelves(tmp_path)
    (tmp_path / "scenes").mkdir()
    for text in ("{", "[]", '{"scenes": {"a": {}}, "negatives": []}'):
        (tmp_path / "scenes" / "labels.json").write_text(text)
        with pytest.raises(ValueError, match="must hold scenes with instances, and negatives"):
            read_shelves(tmp_path)
