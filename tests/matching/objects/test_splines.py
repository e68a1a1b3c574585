"""Smoothing splines and their likelihoods, against SciPy and against covariance matrices."""

import numpy as np
import pytest
import scipy

from matching.objects.splines import (
    DEGREES_OF_FREEDOM,
    decompose,
    fit_spline,
    measure_likelihoods,
    medians,
    phi,
)


@pytest.fixture(scope="module")
def data():
    """80 points, noisy values there, and weights."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 100, (80, 2))
    y = (
        np.column_stack([np.sin(x[:, 1] / 20), np.cos(x[:, 0] / 15)])
        + 0.1 * rng.normal(size=(80, 2))
        + x / 50
    )
    return x, y, np.sqrt(rng.integers(1, 9, 80))


@pytest.mark.parametrize("ratio", [1e-6, 1e-3, 1.0, 30.0])
def test_spline_is_that_of_scipy(data, ratio):
    x, y, weights = data
    kernel = phi(x)
    spline = fit_spline(x, y, kernel, decompose(x, y, kernel, weights), ratio)
    expected = scipy.interpolate.RBFInterpolator(
        x, y, kernel="thin_plate_spline", degree=1, smoothing=1 / (ratio * weights**2)
    )
    new = np.random.default_rng(1).uniform(-10, 110, (50, 2))
    np.testing.assert_allclose(spline(new), expected(new), rtol=0, atol=1e-8)
    np.testing.assert_allclose(spline(x), expected(x), rtol=0, atol=1e-8)


def test_held_out_value_is_predicted_by_all_other_points(data):
    x, y, weights = data
    kernel, ratio = phi(x), 0.01
    off, precision = decompose(x, y, kernel, weights).hold_out(ratio)
    for k in (0, 7, 41):
        rest = np.arange(len(x)) != k
        part = decompose(x[rest], y[rest], phi(x[rest]), weights[rest])
        without = fit_spline(x[rest], y[rest], phi(x[rest]), part, ratio)
        np.testing.assert_allclose(off[k], (y[k] - without(x[k : k + 1]))[0], atol=1e-8)
    assert (precision > 0).all()


def test_likelihood_is_that_of_the_contrasts(data):
    """Two coordinates of the contrasts are normal with the covariance b^2 phi + s^2 / w^2, given s."""
    x, y, weights = data
    x, y, weights = x[:20], y[:20], weights[:20]
    accuracy, ratios = 0.1, np.array([0.0, 1e-3, 0.1])
    drift = np.column_stack([np.ones(20), x]) * weights[:, None]
    contrasts = scipy.linalg.null_space(drift.T)
    z = contrasts.T @ (y * weights[:, None])
    found, noise = measure_likelihoods(decompose(x, y, phi(x), weights), ratios, accuracy)
    for ratio, likelihood, variance in zip(ratios, found, noise, strict=True):
        scaled = ratio * phi(x) * np.outer(weights, weights)
        covariance = variance * (contrasts.T @ scaled @ contrasts + np.eye(17))
        normal = scipy.stats.multivariate_normal(np.zeros(17), covariance)
        prior = -DEGREES_OF_FREEDOM * (np.log(variance) + accuracy**2 / variance) / 2
        constant = 17 * np.log(2 * np.pi)
        assert likelihood == pytest.approx(normal.logpdf(z.T).sum() + prior + constant, abs=1e-6)


def test_kernel_is_square_log_of_the_distance_and_zero_at_a_point():
    x = np.array([[0.0, 0.0], [3.0, 4.0]])
    np.testing.assert_allclose(phi(x), 25 * np.log(5) * (1 - np.eye(2)))
    np.testing.assert_allclose(phi(x, x[:1]), [[0], [25 * np.log(5)]])


@pytest.mark.parametrize("seed", range(3))
def test_medians_are_those_of_each_bin(seed):
    rng = np.random.default_rng(seed)
    number = np.append(np.arange(12), rng.integers(0, 12, 60))
    values = rng.integers(0, 9, (72, 2)) + rng.choice([0.0, 0.5], (72, 2))
    expected = [np.median(values[number == k], axis=0) for k in range(12)]
    np.testing.assert_array_equal(medians(values, number, 12), expected)
