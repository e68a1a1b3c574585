"""Operations on aligned arrays and small matrices, many times faster than NumPy's general functions."""

from dataclasses import fields
from typing import Any, TypeVar

import numpy as np

from matching._common.types import Array, Floats

Record = TypeVar("Record")


def select_rows(record: Record, index: Any) -> Record:
    """Take the same rows of all arrays of a record."""
    return type(record)(*(getattr(record, f.name)[index] for f in fields(record)))  # type: ignore[arg-type]


def count_distinct(rows: Array) -> int:
    """Count the distinct rows of an array (n, k)."""
    return len(np.unique(rows, axis=0))


def find_box(xy: Array, margin: float = 0.0) -> Floats:
    """Find the smallest and the largest x and y of points (n, 2) and a margin around them -> (2, 2)."""
    return np.array([xy.min(axis=0) - margin, xy.max(axis=0) + margin])


def at_pixels(image: Array, xy: Array) -> Array:
    """The values (n,) of an image (h, w) at the pixels nearest to points (n, 2), in it or at its edge."""
    x, y = np.clip(np.rint(xy), 0, np.array(image.shape[::-1]) - 1).astype(int).T
    values: Array = image[y, x]
    return values


def invert_matrices(matrices: Array) -> Floats:
    """Invert matrices in closed form: matrices (m, 2, 2) -> (m, 2, 2)."""
    (a, b), (c, d) = matrices.transpose(1, 2, 0)
    adjugates: Floats = np.stack([d, -b, -c, a], axis=1).reshape(-1, 2, 2)
    return adjugates / determinants(matrices)[:, None, None]


def determinants(matrices: Array) -> Floats:
    """Compute determinants: matrices (m, 2, 2) -> (m,)."""
    (a, b), (c, d) = matrices.transpose(1, 2, 0)
    return np.asarray(a * d - b * c)


def fit_affine(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Fit the affine map of least squares from x to y (k, 2): its linear part (2, 2), and its shift (2,)."""
    solution = np.linalg.lstsq(np.column_stack([x, np.ones(len(x))]), y, rcond=None)[0]
    return np.asarray(solution[:2].T), np.asarray(solution[2])
