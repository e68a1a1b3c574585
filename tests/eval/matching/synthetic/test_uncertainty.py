"""Pairs with a known map, and the deviations of mapped points."""

import numpy as np
import pytest
import skimage.data

from eval.matching.synthetic.uncertainty import map_errors, measure_deviations
from matching.objects.description import describe_object
from matching.objects.transforms import apply_transform
from synth.known_maps import KINDS, VARIANTS, draw_pair


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_true_map_takes_the_first_picture_to_the_second(kind, variant):
    photograph = np.asarray(skimage.data.astronaut())[:480]
    photograph = np.hstack([photograph, photograph[:, :128]])
    first, second, truth, corners = draw_pair(kind, variant, [photograph], np.random.default_rng(1))
    places = corners.mean(axis=0) + 0.5 * (corners - corners.mean(axis=0)) * [[1], [0.5], [-0.3], [0.8]]
    x0, y0 = np.rint(places).astype(int).T
    x1, y1 = np.rint(apply_transform(truth, np.rint(places))).astype(int).T
    around = [
        np.array([one[y - 4 : y + 5, x - 4 : x + 5].mean() for x, y in zip(u, v, strict=True)])
        for one, u, v in ((first, x0, y0), (second, x1, y1))
    ]
    assert np.corrcoef(*around)[0, 1] > 0.9


def test_deviations_are_those_of_repeated_fits():
    corners, ratios = np.array([[0.0, 0.0], [100.0, 80.0]]), []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        xy = rng.uniform(0, 100, (60, 2))
        found = describe_object(0, xy, xy + rng.normal(0, 0.5, xy.shape), 0.8)
        ratios.append(map_errors(found, np.eye(3), corners) / measure_deviations(found, corners))
    assert 0.6 < np.mean(np.square(ratios)) < 1.6
