"""Fits of many matrices at once, and the normalisation of points that they need.

Points are homogeneous, (p, 3, k), or (1, 3, k) if they are the same for all p matrices. A matrix M takes a
point x of picture 0 to a point or a line M x of picture 1, so that a match with y fulfils B M x = 0 for rows
B that depend on y alone: those of [1 0 -y1; 0 1 -y2] if M is a homography, and y' if it is a fundamental
matrix.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from matching._common.types import Floats

TINY = 1e-12  # variance of points at one place


def fit_matrices(
    x: Floats, y: Floats, weights: Floats, square: Callable[[Floats], Floats], rank: int = 0
) -> tuple[Floats, Floats, Floats]:
    """Fit matrices (p, 3, 3) by a direct linear transform to matches with weights (p, k).

    square: B' W B (p, 3, 3, k) of the normalised points (p, 3, k) of picture 1, with the weights W of the
    equations. rank: 0 for the best matrix, 1 for the best one that is orthogonal to it.

    Returns the matrices between normalised points, and those that normalise either picture.
    """
    into0, into1 = normalise(x, weights), normalise(y, weights)
    u = into0 @ x
    squares = square(into1 @ y).reshape(len(weights), 9, -1)
    outer = (u[:, :, None] * u[:, None]).reshape(len(weights), 9, -1)
    normal = (squares @ np.swapaxes(outer, 1, 2)).reshape(-1, 3, 3, 3, 3)
    normal = np.swapaxes(normal, 2, 3).reshape(-1, 9, 9)
    return np.linalg.eigh(normal)[1][:, :, rank].reshape(-1, 3, 3), into0, into1


def normalise(xy: Floats, weights: Floats) -> Floats:
    """Make matrices (p, 3, 3) that take points (p, 3, k) to mean 0 and deviation 1: weights (p, k)."""
    share = weights / np.maximum(weights.sum(axis=1), np.finfo(float).tiny)[:, None]
    middle = (xy[:, :2] @ share[:, :, None])[:, :, 0]
    variance = (share * ((xy[:, :2] - middle[:, :, None]) ** 2).sum(axis=1)).sum(axis=1) / 2
    scale = 1 / np.sqrt(variance + TINY)
    into = np.zeros((len(weights), 3, 3))
    into[:, 0, 0] = into[:, 1, 1] = scale
    into[:, :2, 2], into[:, 2, 2] = -scale[:, None] * middle, 1
    return into
