import numpy as np
import pytest

from eval.matching.photographs import sift_baseline as ordinary
from synth.composite import composite_pair
from synth.photographs import read_shipped


def test_all_methods_are_judged_on_the_same_pair(monkeypatch):
    pair = composite_pair(read_shipped(), 3, 15.0, seed=4)  # the settings that seed 4 stands for

    def perfect(image0, image1):
        assert np.array_equal(image0, pair.image0)
        x, y = np.meshgrid(np.arange(0, 960, 12.0), np.arange(0, 960, 12.0))
        xy1 = np.column_stack([x.ravel(), y.ravel()])
        found = [np.empty((0, 2)), np.empty((0, 2)), np.empty(0, int)]
        for n, affine in enumerate(pair.affine):
            xy0 = (pair.warp(xy1) - affine[:, 2]) @ np.linalg.inv(affine[:, :2]).T
            true = ordinary.true_instance(pair, xy0, xy1) == n
            parts = (xy0[true], xy1[true], np.full(true.sum(), n))
            found = [np.concatenate(both) for both in zip(found, parts, strict=True)]
        return found

    def blind(image0, image1):
        return np.zeros((5, 2)), np.zeros((5, 2)), np.full(5, -1)

    monkeypatch.setattr(ordinary, "methods", lambda: {"perfect": perfect, "blind": blind})
    rows = list(ordinary.compare(read_shipped(), range(4, 5)))
    assert [row["method"] for row in rows] == ["perfect", "blind"]
    best, worst = rows
    assert best["f"] == 1
    assert best["objects_found"] == best["objects"] == best["clusters"] == 3
    assert best["true_matches"] == best["places"] > 1000
    assert (worst["objects_found"], worst["true_matches"], worst["places"]) == (0, 0, 0)
    lines = ordinary.format_table(rows).splitlines()
    assert len(lines) == 4
    assert lines[2].startswith("| 1 | perfect | 1.000 | 3 of 3 | 1.00 | 0 |")


@pytest.mark.parametrize("name", ["match", "SIFT, ratio 0.8, sequential MAGSAC"])
def test_methods_find_an_object(name):
    pair = composite_pair(read_shipped(), 1, 0.0, seed=3, side=200)
    xy0, xy1, cluster = ordinary.methods()[name](pair.image0, pair.image1)
    right = ordinary.true_instance(pair, xy0, xy1)[cluster >= 0] >= 0
    assert right.sum() > 20
