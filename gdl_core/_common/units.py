"""The unit of distances: squares of very large or small samples exceed the range of float64."""

import math
from typing import Any

import scipy

from .types import Array

REACH = 1e10  # squares of values from 1 / REACH to REACH are safe in float32, and none is rounded to 0
INHOMOGENEOUS = ("haversine",)  # metrics whose neighbours change with the unit


def find_unit(x: Any, metric: Any) -> float:
    """A power of two near the largest magnitude in x (n, d), dense or CSR; 1 if squares are safe anyway.

    Division by the unit is exact. The unit is also 1 if the metric is a function, or if its neighbours change
    with the unit, so that such a metric gets the samples unchanged.
    """
    values: Array = x.data if scipy.sparse.issparse(x) else x
    if values.size == 0 or callable(metric) or metric in INHOMOGENEOUS:
        return 1.0
    most = max(float(values.max()), -float(values.min()))
    if most == 0 or 1 / REACH <= most <= REACH:
        return 1.0
    return math.ldexp(1.0, math.frexp(most)[1] - 1)
