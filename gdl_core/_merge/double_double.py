"""Sums and products of non-negative numbers to about 106 bits, as unevaluated pairs (high, low) of float64.

Affinities are sums of products, which different merging orders add up in different orders. In plain float64
equal affinities can then differ slightly, and rounding would decide a tie. Here every affinity is computed to
twice the precision and rounded once, so that equal affinities are equal numbers (unless they lie within that
precision of the midpoint between two adjacent numbers of float64). Dekker 1971, Knuth TAOCP 4.2.2.
"""

from .._common.jit import inner
from .._common.types import Scalars


@inner
def add(ah: float, al: float, bh: float, bl: float) -> Scalars:
    """Add (ah, al) and (bh, bl)."""
    s = ah + bh
    t = s - ah
    e = (ah - (s - t)) + (bh - t) + (al + bl)
    high = s + e
    return high, e - (high - s)


@inner
def _two_product(a: float, b: float) -> Scalars:
    """Multiply two float64 exactly -> (high, low)."""
    p = a * b
    t = 134217729.0 * a  # 2**27 + 1 splits a float64 into halves of 26 bits
    ah = t - (t - a)
    al = a - ah
    t = 134217729.0 * b
    bh = t - (t - b)
    bl = b - bh
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


@inner
def multiply(ah: float, al: float, bh: float, bl: float) -> Scalars:
    """Multiply (ah, al) by (bh, bl)."""
    p, e = _two_product(ah, bh)
    e += ah * bl + al * bh
    high = p + e
    return high, e - (high - p)


@inner
def divide(ah: float, al: float, d: float) -> Scalars:
    """Divide (ah, al) by the float64 ``d``."""
    q = ah / d
    p, e = _two_product(q, d)
    e = (((ah - p) - e) + al) / d
    high = q + e
    return high, e - (high - q)
