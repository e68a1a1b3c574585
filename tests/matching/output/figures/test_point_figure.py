"""The figure of points without pictures."""

import numpy as np
import pytest

from matching import MatchResult
from matching.objects.description import describe_object
from matching.output.figures.drawing import GREY, colour, draw_result
from matching.pictures.images import NamedImage


def result_of(n_objects, n=40):
    rng = np.random.default_rng(0)
    cluster = np.repeat(np.arange(-1, n_objects), n)
    xy0 = rng.normal(0, 8, (len(cluster), 2)) + 60 * np.column_stack([cluster % 6, cluster // 6])
    xy1 = xy0 + 5
    objects = tuple(describe_object(k, xy0[cluster == k], xy1[cluster == k], 0.5) for k in range(n_objects))
    return MatchResult(xy0, xy1, cluster, np.zeros(len(cluster)), objects)


def drawn(result, size=(None, None)):
    return draw_result(*[NamedImage(None, *size)] * 2, result)


def share_of(tint, half):
    return (np.abs(half.astype(int) - tint) <= 2).all(axis=2).mean()


def test_each_object_has_its_colour_in_both_panels():
    rgb = drawn(result_of(4))
    for half in (rgb[:, : rgb.shape[1] // 2], rgb[:, rgb.shape[1] // 2 :]):
        for k in range(4):
            assert share_of(colour(k), half) > 2e-4
        assert share_of(colour(4), half) == 0
        assert share_of(GREY, half) > 1e-4  # outliers


def test_figure_is_as_tall_as_its_images():
    wide, tall = (drawn(result_of(1), size) for size in ((900, 300), (600, 900)))
    assert wide.shape[0] < 0.5 * tall.shape[0]


@pytest.mark.parametrize(("n_objects", "n"), [(0, 0), (0, 40), (30, 40)])
def test_figure_is_drawn_for_no_and_for_many_objects(n_objects, n):
    assert drawn(result_of(n_objects, n)).shape[1] > 1000
