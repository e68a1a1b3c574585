"""Operations that replace slower general ones of NumPy."""

from dataclasses import dataclass

import numpy as np
import pytest

from matching._common.arrays import determinants, invert_matrices, select_rows


@dataclass(frozen=True, eq=False)
class Points:
    xy: np.ndarray
    number: np.ndarray


@pytest.mark.parametrize(
    "index", [slice(2, 7, 2), np.array([5, 0, 5]), np.arange(10) % 3 == 1, np.empty(0, int), [1, 2]]
)
def test_rows_equal_those_that_numpy_selects(index):
    points = Points(np.arange(20.0).reshape(10, 2), np.arange(10, dtype=np.int8))
    chosen = select_rows(points, index)
    assert isinstance(chosen, Points)
    for name in ("xy", "number"):
        actual, expected = getattr(chosen, name), getattr(points, name)[index]
        assert np.array_equal(actual, expected) and actual.dtype == expected.dtype


def test_inverses_and_determinants_equal_those_of_lapack():
    matrices = np.random.default_rng(0).normal(size=(200, 2, 2))
    assert invert_matrices(matrices) == pytest.approx(np.linalg.inv(matrices), rel=1e-9)
    assert determinants(matrices) == pytest.approx(np.linalg.det(matrices), rel=1e-9)
    assert invert_matrices(matrices[:0]).shape == (0, 2, 2)
