"""The exponential function, with the same bits on any processor.

NumPy's rounding depends on the processor's vector instructions. This function consists of products, sums and
quotients, which are rounded in the same way everywhere. As in fdlibm's e_exp.c (Sun Microsystems 1993), x is
written as k log 2 + r, and exp(r) is computed by a rational approximation, to within one unit in the last
place.
"""

import numpy as np

from .types import Floats

LOG2_HIGH, LOG2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # log 2, in two parts
COEFFICIENTS = (  # of the rational approximation, from e_exp.c
    1.66666666666666019037e-01,
    -2.77777777770155933842e-03,
    6.61375632143793436117e-05,
    -1.65339022054652515390e-06,
    4.13813679705723846039e-08,
)
UNDERFLOW = -746.0  # the exponential of this and of smaller numbers is 0
BLOCK_SIZE = 1 << 15  # numbers computed at a time, which fit into the processor's cache


def exp_of_negative(x: Floats) -> Floats:
    """Compute exp(x) for numbers (n,) that are 0 or less."""
    result = np.empty(len(x))
    for start in range(0, len(x), BLOCK_SIZE):
        result[start : start + BLOCK_SIZE] = _exp(np.maximum(x[start : start + BLOCK_SIZE], UNDERFLOW))
    return result


def _exp(x: Floats) -> Floats:
    """Compute the exponentials of x (n,), which must not underflow."""
    k = np.rint(x / (LOG2_HIGH + LOG2_LOW))
    high, low = x - k * LOG2_HIGH, k * LOG2_LOW
    r = high - low
    t = r * r
    tail = np.zeros(len(x))
    for coefficient in reversed(COEFFICIENTS):
        tail = t * (coefficient + tail)
    c = r - tail
    result: Floats = np.ldexp(1.0 - ((low - r * c / (2.0 - c)) - high), k.astype(np.int32))
    return result
