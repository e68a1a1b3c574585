import numpy as np
import pytest
from scipy.optimize import check_grad, least_squares

from matching.objects import transforms
from matching.objects.robust import minimize_cauchy


@pytest.mark.parametrize("seed", range(5))
def test_line_among_outliers_equals_that_of_scipy(seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, 200)
    y = 2 * x - 0.5 + rng.normal(0, 0.05, 200)
    y[:60] = rng.uniform(-5, 5, 60)

    def residuals(unknown):
        slope, offset = unknown
        return (slope * x + offset - y) / 0.05, np.stack([x, np.ones(200)], axis=1) / 0.05

    theirs = least_squares(lambda u: residuals(u)[0], [1.5, 0.0], loss="cauchy", ftol=1e-12, xtol=1e-12).x
    np.testing.assert_allclose(minimize_cauchy(residuals, np.array([1.5, 0.0])), theirs, atol=1e-5)


def test_unconstrained_unknowns_stay():
    def residuals(unknown):
        return np.array([unknown[0] - 3]), np.array([[1.0, 0.0]])

    np.testing.assert_allclose(minimize_cauchy(residuals, np.array([2.5, 7.0])), [3, 7])


def test_too_large_steps_are_damped():
    def residuals(unknown):  # Gauss and Newton's step from 5 leads beyond -5
        return np.arctan(unknown), (1 / (1 + unknown**2))[:, None]

    np.testing.assert_allclose(minimize_cauchy(residuals, np.array([5.0])), 0, atol=1e-4)


def test_steps_to_undefined_residuals_are_undone():
    def residuals(unknown):  # Gauss and Newton's step from 9 leads below 0
        return np.log(unknown) - np.log(2), (1 / unknown)[:, None]

    np.testing.assert_allclose(minimize_cauchy(residuals, np.array([9.0])), 2, rtol=1e-6)


@pytest.mark.parametrize("mirrored", [False, True])
def test_derivatives_of_the_refined_map_are_right(mirrored, monkeypatch):
    rng = np.random.default_rng(0)
    linear = np.array([[0.9, -0.3], [0.4, 1.1]]) @ np.diag([-1.0 if mirrored else 1.0, 1.0])
    x = rng.uniform(-1, 1, (40, 2))
    calls = []
    monkeypatch.setattr(transforms, "minimize_cauchy", lambda f, start: calls.append((f, start)) or start)
    first = np.eye(3)
    first[:2, :2] = linear
    transforms._fit_map(x, x @ linear.T + rng.normal(0, 0.1, (40, 2)), first, 0.1, 0.05)
    residuals, start = calls[0]
    at = start + rng.normal(0, 0.1, 8)
    rows = residuals(at)[0]
    for k in range(len(rows)):
        assert check_grad(lambda u, k=k: residuals(u)[0][k], lambda u, k=k: residuals(u)[1][k], at) < 1e-4


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_residuals_that_are_not_finite_end_the_fit(bad):
    found = minimize_cauchy(lambda u: (u * bad, np.full((2, 2), bad)), np.array([1.0, 2.0]))
    assert np.array_equal(found, [1.0, 2.0])
