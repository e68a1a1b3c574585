import json
from types import SimpleNamespace

import numpy as np
import pytest
import skimage.data
import skimage.io
from skimage.transform import rescale

from eval.matching.photographs.counts import format_counts, measure_shelves
from eval.matching.photographs.shelves import (
    SCENE_COLUMNS,
    Instance,
    ShelfPair,
    compare_scenes,
    find_instances,
    find_owners,
    find_standing,
    format_table,
    measure,
    read_scenes,
    read_shelves,
    scenes_summary,
)

SQUARE = np.array([[0, 0], [100, 0], [100, 100], [0, 100]], float)


def inside(n, corner=0.0):
    return np.random.default_rng(0).uniform(10, 90, (n, 2)) + corner


def test_an_object_owns_the_instance_that_holds_its_matches():
    pair = ShelfPair(None, None, "shown", ((SQUARE,), (SQUARE + 200,)))
    xy = np.concatenate([inside(10, 200), inside(7), inside(3, 400), inside(5, 400), inside(9)])
    cluster = np.repeat([0, 1, 1, 2, -1], [10, 7, 3, 5, 9])
    assert find_owners(pair, xy, cluster) == [1, -1, -1]  # 1: 70 % inside


def test_the_artwork_counts_too():
    pair = ShelfPair(None, None, "shown", ((SQUARE, SQUARE + 50),))
    assert find_owners(pair, inside(10, 50), np.zeros(10, int)) == [0]
    assert find_owners(ShelfPair(None, None, "clean"), inside(10), np.zeros(10, int)) == [-1]


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
    rows = list(measure(pairs))
    assert [(row["objects"], row["found"]) for row in rows] == [(1, 1), (0, 0)]
    assert format_table(rows).splitlines()[-1] == "| 1 of 1 | 1 of 1 | 1 of 1 | 0 of 0 |"


def product(model, x, variant="exact"):
    return Instance(model, variant, (SQUARE + np.array([x, 0]),))


def found(matches):
    """A result of matches (object, x in the first scene, x in the second)."""
    cluster, x0, x1 = np.array(matches, float).T
    xy0, xy1 = (np.column_stack([x, np.full(len(x), 50.0)]) for x in (x0, x1))
    objects = range(int(cluster.max()) + 1)
    return SimpleNamespace(xy0=xy0, xy1=xy1, cluster=cluster.astype(int), objects=objects)


def test_the_instance_of_a_point():
    instances = [product("a", 0), product("b", 80), Instance("c", "exact", (SQUARE + 500, SQUARE + 520))]
    points = np.array([[50, 50], [85, 50], [95, 50], [300, 50], [610, 610]], float)
    assert find_instances(points, instances).tolist() == [0, 0, 1, -1, 2]
    assert find_instances(points, []).tolist() == [-1] * 5


def test_scenes_compared():
    first = [product("a", 0), product("b", 200), product("c", 1000, "promo")]
    second = [product("b", 0), product("a", 200), product("a", 400), product("c", 1000)]
    matches = [
        *[(0, 50, 250)] * 3,  # a to its first copy
        *[(0, 250, 50)] * 4,  # and b with it: spans
        *[(1, 50, 450)] * 3,  # a to its second copy
        *[(1, 250, 450)] * 2,  # two stray matches
        *[(2, 250, 250)] * 5,  # b to a
        *[(3, 700, 750)] * 9,  # where nothing is labelled
        *[(-1, 250, 50)] * 9,
    ]
    row = compare_scenes(found(matches), (first, second))
    assert row == {
        "objects": 4,
        "spanning": 1,
        "labelled": 3,
        "same_product": 2,
        "other_product": 1,
        "instance_pairs": 3,  # b and b, a and its two copies; the other print of c is none
        "found": 3,
    }
    twice = scenes_summary([{"pair": "x y", "seconds": 1.0, **row}] * 2)
    assert twice.startswith("8 objects in 2 pairs, 2 span several products;")
    assert set(row) | {"pair", "seconds"} == set(SCENE_COLUMNS)


def test_scenes_read(shelves):
    ((path, instances),) = read_scenes(shelves).items()
    assert path.stem == "shelf"
    assert [(i.model, i.variant) for i in instances] == [
        ("models/cat.png", "exact"),
        ("models/rocket.png", "promo"),
        ("models/rocket.png", "exact"),
    ]
    assert instances[0].quads[0].shape == (4, 2)


def test_bad_labels_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"labels\.json must hold the labels, found no such file"):
        read_shelves(tmp_path)
    (tmp_path / "scenes").mkdir()
    for text in ("{", "[]", '{"scenes": {"a": {}}, "negatives": []}'):
        (tmp_path / "scenes" / "labels.json").write_text(text)
        with pytest.raises(ValueError, match="must hold scenes with instances, and negatives"):
            read_shelves(tmp_path)


def test_a_frame_is_of_the_instance_that_it_covers():
    own = [Instance("a", "exact", (SQUARE,)), Instance("a", "promo", (SQUARE + 300, SQUARE + 200))]
    assert find_standing(SQUARE + 10, own) == 0
    assert find_standing(SQUARE + 205, own) == 1
    assert find_standing(SQUARE + 60, own) == -1
    assert find_standing(SQUARE, []) == -1


def test_copies_are_counted_against_the_labels(shelves):
    rows = {row["pair"]: row for row in measure_shelves(shelves)}
    cat = next(row for pair, row in rows.items() if pair.startswith("cat"))
    assert (cat["exact"], cat["counted"], cat["missed"], cat["strangers"], cat["twice"]) == (1, 1, 0, 0, 0)
    wrong = {**cat, "missed": 1, "strangers": 2}
    assert format_counts([cat, wrong]) == (
        "1 of 2 counts right, 1 under and 1 over;\n2 copies: 1 missed, 0 counted twice, 2 others counted"
    )
