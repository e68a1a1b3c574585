"""The exponential function, with bitwise equal results on any processor.

NumPy's rounding depends on the processor's vector instructions. This function consists of products, sums and
quotients, which are rounded in the same way everywhere. As in fdlibm's e_exp.c (Sun Microsystems 1993), x is
written as k log 2 + r, and exp(r) is computed by a rational approximation, to within one unit in the last
place.
"""

import numpy as np

from .types import Floats

LOG2_HIGH, LOG2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # log 2, in two parts
P = (
    1.66666666666666019037e-01,
    -2.77777777770155933842e-03,
    6.61375632143793436117e-05,
    -1.65339022054652515390e-06,
    4.13813679705723846039e-08,
)
SMALLEST = -746.0  # below it, the result is 0
BLOCK = 1 << 15  # numbers that fit into the processor's cache


def exp_of_negative(x: Floats) -> Floats:
    """Compute exp(x) for numbers (n,) that are 0 or less."""
    result = np.empty(len(x))
    for start in range(0, len(x), BLOCK):
        result[start : start + BLOCK] = _exp(np.maximum(x[start : start + BLOCK], SMALLEST))
    return result


def _exp(x: Floats) -> Floats:
    k = np.rint(x / (LOG2_HIGH + LOG2_LOW))
    high, low = x - k * LOG2_HIGH, k * LOG2_LOW
    r = high - low
    t = r * r
    c = r - t * (P[0] + t * (P[1] + t * (P[2] + t * (P[3] + t * P[4]))))
    found: Floats = np.ldexp(1.0 - ((low - r * c / (2.0 - c)) - high), k.astype(np.int32))
    return found
