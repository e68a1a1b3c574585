"""Thin-plate splines as random fields, fitted by restricted maximum likelihood (REML).

Notation: x, y (n, 2) are points and what is known there; T = [1, x] spans the affine maps; K_ij = b^2
phi(|x_i - x_j|) + s^2 / w_i^2 [i = j] is the covariance of each coordinate of y, phi(r) = r^2 log r, b the
bend, s the accuracy, and w the weights. The contrasts of y are its parts that no affine map explains.
(Patterson and Thompson 1971; Wahba, Spline Models for Observational Data, 1990.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from matching._common.types import Floats, Ints

# Degrees of freedom of the prior of s; no record of a choice.
DEGREES_OF_FREEDOM = 4


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The uncorrelated contrasts of n points: values (n - 3,), vectors (n, n - 3) of phi, weights (n,)."""

    values: Floats
    vectors: Floats
    coordinates: Floats  # (n - 3, 2), of y
    weights: Floats

    def hold_out(self, ratio: float) -> tuple[Floats, Floats]:
        """What y (n, 2) is off from its prediction by all other points, and the precision (n,) of that."""
        scaled = self.vectors / (ratio * self.values + 1.0)
        precision = np.maximum((scaled * self.vectors).sum(axis=1), 1e-12)
        return scaled @ self.coordinates / (precision * self.weights)[:, None], precision


def phi(x: Floats, others: Floats | None = None) -> Floats:
    """The thin-plate spline phi(|x_i - x_j|) (n, m) of points (n, 2) and others (m, 2)."""
    u, v = (np.subtract.outer(*each) for each in zip(x.T, (x if others is None else others).T, strict=True))
    square = u * u + v * v
    return np.asarray(0.5 * square * np.log(np.where(square > 0, square, 1.0)))


def decompose(x: Floats, y: Floats, kernel: Floats, weights: Floats) -> Spectrum:
    """Find the contrasts of points x, y (n, 2): kernel (n, n) is phi(x); weights (n,)."""
    drift = np.column_stack([np.ones(len(x)), x]) * weights[:, None]
    contrasts = np.linalg.qr(drift, mode="complete")[0][:, 3:]
    values, vectors = np.linalg.eigh(contrasts.T @ (kernel * np.outer(weights, weights)) @ contrasts)
    vectors = contrasts @ vectors
    return Spectrum(np.maximum(values, 0.0), vectors, vectors.T @ (y * weights[:, None]), weights)


def measure_likelihoods(spectrum: Spectrum, ratios: Floats, accuracy: float) -> tuple[Floats, Floats]:
    """The log likelihoods (k,) of ratios b^2 / s^2 (k,), and the likeliest s^2 (k,) of each.

    The prior of s^2 is a scaled inverse chi-square around the square of `accuracy`.
    """
    variances = ratios[:, None] * spectrum.values + 1.0  # (k, n - 3), in units of s^2
    square = ((spectrum.coordinates**2).sum(axis=1) / variances).sum(axis=1)
    prior = DEGREES_OF_FREEDOM * accuracy**2
    noise = (square + prior) / (2 * variances.shape[1] + DEGREES_OF_FREEDOM)
    likelihood = -(square + prior) / (2 * noise) - np.log(variances * noise[:, None]).sum(axis=1)
    return likelihood - DEGREES_OF_FREEDOM * np.log(noise) / 2, noise


@dataclass(frozen=True, eq=False)
class Spline:
    """A smoothing spline; call it with points (n, 2) to get (n, 2) float64."""

    x: Floats  # (k, 2), its centres
    coefficients: Floats  # (k, 2), of phi
    affine: Floats  # (3, 2), of [1, x]

    def __call__(self, points: Floats) -> Floats:
        """Evaluate the spline at points (n, 2)."""
        drift = np.column_stack([np.ones(len(points)), points])
        return np.asarray(phi(points, self.x) @ self.coefficients + drift @ self.affine)


def fit_spline(x: Floats, y: Floats, kernel: Floats, spectrum: Spectrum, ratio: float) -> Spline:
    """The spline that predicts y (n, 2), from its spectrum, for a ratio b^2 / s^2 above 0."""
    weights = spectrum.weights
    scaled = spectrum.vectors / (ratio * spectrum.values + 1.0)
    coefficients = ratio * (scaled @ spectrum.coordinates) * weights[:, None]
    drift = np.column_stack([np.ones(len(x)), x])
    rest = (y - kernel @ coefficients) * weights[:, None] - (scaled @ spectrum.coordinates)
    affine = np.linalg.lstsq(drift * weights[:, None], rest, rcond=None)[0]
    return Spline(x, coefficients, np.asarray(affine, np.float64))


def medians(values: Floats, number: Ints, n: int) -> Floats:
    """The medians (n, d) of the values (m, d) in each of n bins, none of which is empty; number (m,)."""
    count = np.bincount(number, minlength=n)
    start = np.cumsum(count) - count
    columns = []
    for column in values.T:
        ordered = column[np.lexsort((column, number))]
        columns.append((ordered[start + (count - 1) // 2] + ordered[start + count // 2]) / 2)
    return np.column_stack(columns)
