import math
from dataclasses import replace

import numpy as np
import pytest

from matching import MatchResult, object_deformation
from matching.errors import InputError
from matching.objects.deformation import _Bins, _make_controls, fit_smooth_map
from matching.objects.description import describe_object
from matching.objects.transforms import apply_transform

AFFINE = np.array([[0.9, 0.2, 30], [-0.15, 1.1, 60], [0, 0, 1]])


def bend(xy):
    """A bend of up to 12 px with waves of 300 px."""
    x, y = xy.T * 2 * np.pi / 300
    return apply_transform(AFFINE, xy) + 12 * np.column_stack([np.sin(y), np.cos(x)])


def points(n=600, seed=0):
    return np.random.default_rng(seed).uniform(0, 400, (n, 2))


def grid(margin=20):
    line = np.arange(margin, 400 - margin, 10.0)
    return np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)


def distance(a, b):
    return np.linalg.norm(a - b, axis=1)


def test_map_follows_a_bend():
    xy = points()
    smooth = fit_smooth_map(xy, bend(xy), AFFINE)
    assert distance(smooth(grid()), bend(grid())).max() < 1
    assert np.median(distance(apply_transform(AFFINE, grid()), bend(grid()))) > 5
    assert smooth.error < 0.5
    assert smooth.base_error > 5


def test_noise_bends_nothing():
    rng = np.random.default_rng(1)
    xy = points()
    smooth = fit_smooth_map(xy, apply_transform(AFFINE, xy) + rng.normal(0, 1, xy.shape), AFFINE)
    assert distance(smooth(grid()), apply_transform(AFFINE, grid())).max() < 0.5


def test_exact_map_is_not_bent():
    xy = points()
    smooth = fit_smooth_map(xy, apply_transform(AFFINE, xy) + 1e-6 * xy, AFFINE)
    assert smooth.smoothing == math.inf
    assert smooth.spline is None


@pytest.mark.parametrize("noise", [0.5, 2.0])
def test_hold_out_error_predicts_error_of_new_matches(noise):
    rng = np.random.default_rng(2)
    xy, new = points(800), points(800, seed=9)
    smooth = fit_smooth_map(xy, bend(xy) + rng.normal(0, noise, xy.shape), AFFINE)
    shown = np.median(distance(smooth(new), bend(new) + rng.normal(0, noise, new.shape)))
    assert smooth.error == pytest.approx(shown, rel=0.25)
    assert np.median(distance(smooth(new), bend(new))) < noise


def test_wrong_matches_do_little_harm():
    rng = np.random.default_rng(3)
    xy = points()
    target = bend(xy)
    target[rng.choice(600, 30, replace=False)] += rng.uniform(-40, 40, (30, 2))
    smooth = fit_smooth_map(xy, target, AFFINE)
    assert np.quantile(distance(smooth(grid()), bend(grid())), 0.95) < 2


@pytest.mark.parametrize("length", [80.0, 160.0])
def test_waves_as_long_as_smoothing_are_halved(length):
    line = np.arange(0, 800, 20.0)  # much closer than a wave, so that the sum is near the integral
    xy = np.stack(np.meshgrid(line, np.arange(0, 400, 20.0)), axis=-1).reshape(-1, 2)
    wave = np.column_stack([np.sin(2 * np.pi * xy[:, 0] / length), np.zeros(len(xy))])
    spline = _make_controls(xy, wave, _Bins(np.arange(len(xy)), 20.0)).fit(length)
    x = np.arange(240, 560)  # whole waves, away from the edges
    seen = spline(np.column_stack([x, np.full(len(x), 200.0)]))[:, 0]
    amplitude = 2 * np.abs(np.mean(seen * np.exp(-2j * np.pi * x / length)))
    assert amplitude == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize(
    "xy",
    [
        points(3),
        points(11),
        np.column_stack([np.arange(50.0), 2 * np.arange(50.0)]),
        np.zeros((40, 2)),
        np.repeat([[0.0, 0], [100, 0], [0, 100]], 8, axis=0) + points(24) / 400,
        np.repeat([[0.0, 0], [50, 0], [100, 0], [0, 90]], 8, axis=0) + points(32) / 400,
    ],
    ids=["three", "eleven", "in a line", "coincident", "three places", "four places"],
)
@pytest.mark.parametrize("smoothing", [None, 50.0])
def test_too_few_matches_keep_the_transform(xy, smoothing):
    smooth = fit_smooth_map(xy, bend(xy), AFFINE, smoothing)
    assert smooth.spline is None
    assert np.allclose(smooth(grid()), apply_transform(AFFINE, grid()))


@pytest.fixture(scope="module")
def result():
    xy0 = np.vstack([points(), points(50, seed=5)])
    xy1 = bend(xy0)
    cluster = np.append(np.zeros(600, int), np.full(50, -1))
    found = describe_object(0, xy0[:600], xy1[:600], 60.0)
    return MatchResult(xy0, xy1, cluster, np.zeros(650), (found,))


def test_both_directions_undo_each_other(result):
    deformation = object_deformation(result, 0)
    there = deformation.forward(grid())
    assert distance(there, bend(grid())).max() < 1
    assert distance(deformation.backward(there), grid()).max() < 1.5


def test_smoothing_can_be_given(result):
    short, long = (object_deformation(result, 0, s).forward for s in (30, 600))
    assert (short.smoothing, long.smoothing) == (30, 600)
    assert short.error < 0.3 * long.error


def test_wrong_arguments_are_reported(result):
    with pytest.raises(InputError, match="object_id must be below 1, got 3"):
        object_deformation(result, 3)
    with pytest.raises(InputError, match="the result has no objects, so there is no object_id 0"):
        object_deformation(replace(result, objects=()), 0)
    with pytest.raises(InputError, match="smoothing must be above 0 px, got -1"):
        object_deformation(result, 0, -1)


def test_map_without_inverse_is_fitted_backwards():
    xy0 = points(40)
    xy1 = np.repeat([[7.0, 9.0]], 40, axis=0)
    thing = describe_object(0, xy0, xy1, 30.0)
    result = MatchResult(xy0, xy1, np.zeros(40, int), np.zeros(40), (thing,), {})
    assert np.isfinite(object_deformation(result, 0).backward(xy1)).all()
