"""Checks of arguments. Each error message is one line that names the parameter, the rule and the value."""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .types import Array, Ints

LARGEST = float(np.finfo(float).max)


def check_integer(name: str, value: Any, minimum: int | None = None) -> int:
    """Return an integer, of at least ``minimum``, as an int; raise ValueError for any other value, because
    2.5 must not become 2.
    """
    least = "" if minimum is None else f" of at least {minimum}"
    if not isinstance(value, Integral) or isinstance(value, bool) or (least and value < minimum):
        raise ValueError(f"{name} must be an integer{least}, got {value!r}")
    return int(value)


def check_one_of(name: str, value: Any, allowed: Sequence[Any]) -> None:
    """Raise ValueError if the value is not one of those allowed."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")


def check_values(name: str, values: Array, rule: str, least: float, most: float = LARGEST) -> None:
    """Raise ValueError, which states the rule, if a value is nan or not in [least, most]."""
    is_outside = ~((values >= least) & (values <= most))
    if is_outside.any():
        raise ValueError(f"{name} must be {rule}, got {values[is_outside][0]:g}")


def check_square(name: str, matrix: Any) -> None:
    """Raise ValueError if a matrix is not square."""
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{name} must be square, got shape {matrix.shape}")


def check_bandwidth(bandwidth: Any) -> None:
    """Raise ValueError if the factor a of Eq. 1 is out of range."""
    if not isinstance(bandwidth, Real) or not 0 < float(bandwidth) < np.inf:
        raise ValueError(f"bandwidth must be a finite number above 0, got {bandwidth!r}")


def check_integers(name: str, values: ArrayLike) -> Array:
    """Return whole numbers, of any integer type or float, as an array, or raise ValueError."""
    values = np.asarray(values)
    if values.dtype.kind == "f":
        is_broken = ~(np.abs(values) < 2**53) | (values != np.trunc(values))  # also true for nan and infinity
        if is_broken.any():
            raise ValueError(f"{name} must be integers, got {values[is_broken][0]}")
        return values.astype(np.int64)
    if values.dtype.kind not in "biu":
        raise ValueError(f"{name} must be integers, got an array of {values.dtype}")
    return values


def check_sample_labels(n_samples: int, labels: ArrayLike, name: str = "labels") -> Ints:
    """Return labels of n samples as (n,) int64, or raise ValueError."""
    labels = check_integers(name, labels)
    if labels.shape != (n_samples,):
        raise ValueError(f"{name} must have shape ({n_samples},), got {labels.shape}")
    return labels.astype(np.int64)
