"""The comparison on sets that the clusterer was not chosen on."""

import numpy as np
import pytest

from eval.clustering import held_out, shapes, suite


@pytest.mark.parametrize("group", shapes.KINDS)
def test_drawn_shapes_repeat_and_are_thinned(group):
    drawn = list(shapes.draw_shapes(group, (1, 2)))
    assert len({name for name, _, _ in drawn}) == len(drawn) == 6 * len(shapes.KINDS[group])
    for (_, x, labels), (_, again, _) in zip(drawn, shapes.draw_shapes(group, (1, 2)), strict=True):
        np.testing.assert_array_equal(x, again)
        assert labels.shape == (1, len(x))
        assert type(x) is np.ndarray
        assert np.bincount(labels[0])[1:].min() >= 5
    whole, quarter = (sum(len(x) for _, x, _ in drawn[i::3]) for i in (0, 2))
    assert 0.15 < quarter / whole < 0.35


def test_groups_become_rows_of_means():
    blobs = np.random.default_rng(0).normal(size=(80, 2)) + np.repeat([[0, 0], [40, 0]], 40, axis=0)
    labels = np.repeat([1, 2], 40)[None]
    groups = [("blobs", [("a", blobs, labels), ("b", 2 * blobs, labels)])]

    def missing(x, k):
        raise ImportError

    methods = {
        "GraphDegreeLinkage": suite.METHODS["GraphDegreeLinkage"],
        "one": lambda x, k: np.zeros(len(x), int),
        "missing": missing,
        "HDBSCAN": held_out.COMPARED["HDBSCAN"],
    }
    head, rows = held_out.held_out_rows(groups, methods)
    assert head == ["sets", "GraphDegreeLinkage", "one", "HDBSCAN"]
    assert rows[0][:3] == ["blobs (2)", "1.000", "0.000"]
