"""The unit of distances, because squares of very large or small samples exceed the range of float64."""

import math
from typing import Any

import scipy

from .types import Array

SAFE_RATIO = 1e10  # between 1 / SAFE_RATIO and SAFE_RATIO, squares neither overflow nor vanish in float32
UNIT_DEPENDENT_METRICS = ("haversine",)  # metrics whose neighbours change with the unit


def find_unit(x: Any, metric: Any) -> float:
    """Find a power of two near the largest magnitude in x (n, d), dense or CSR; 1 if its squares are safe.

    Division by the unit is exact. The unit is also 1 if the metric is a function, or if its neighbours change
    with the unit, so that such a metric gets the samples unchanged.
    """
    values: Array = x.data if scipy.sparse.issparse(x) else x
    if callable(metric) or metric in UNIT_DEPENDENT_METRICS:
        return 1.0
    largest = max(float(values.max(initial=0)), -float(values.min(initial=0)))
    if largest == 0 or 1 / SAFE_RATIO <= largest <= SAFE_RATIO:
        return 1.0
    return math.ldexp(1.0, math.frexp(largest)[1] - 1)
