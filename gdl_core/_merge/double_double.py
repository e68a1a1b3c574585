"""Sums and products of non-negative numbers to about 106 bits, as unevaluated pairs (high, low) of float64.

Affinities are sums of products, which different merging orders add up in different orders. In plain float64
equal affinities can then differ slightly, and rounding would decide a tie. Here every affinity is computed to
twice the precision and rounded once, so that equal affinities are equal numbers (unless they lie within that
precision of the midpoint between two adjacent numbers of float64). Dekker 1971, Knuth TAOCP 4.2.2.
"""

from .._common.jit import inner
from .._common.types import Scalars


@inner
def _two_sum(a: float, b: float) -> Scalars:
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@inner
def _two_product(a: float, b: float) -> Scalars:
    p = a * b
    t = 134217729.0 * a  # 2**27 + 1 splits a float64 into halves of 26 bits
    ah = t - (t - a)
    al = a - ah
    t = 134217729.0 * b
    bh = t - (t - b)
    bl = b - bh
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


@inner
def _renormalise(high: float, low: float) -> Scalars:
    s = high + low
    return s, low - (s - high)


@inner
def add(ah: float, al: float, bh: float, bl: float) -> Scalars:
    s, e = _two_sum(ah, bh)
    return _renormalise(s, e + (al + bl))


@inner
def multiply(ah: float, al: float, bh: float, bl: float) -> Scalars:
    p, e = _two_product(ah, bh)
    return _renormalise(p, e + (ah * bl + al * bh))


@inner
def divide(ah: float, al: float, d: float) -> Scalars:
    """Divide (ah, al) by the float64 ``d``."""
    q = ah / d
    p, e = _two_product(q, d)
    return _renormalise(q, (((ah - p) - e) + al) / d)
