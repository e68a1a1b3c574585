"""The compiled loop of `matching.agreement.residual`, documented where it is called."""

import numpy as np

from gdl_core.jit import njit
from matching._common.types import Array


@njit(fastmath={"contract", "reassoc", "nsz"})
def measure_unlike(a: Array, b: Array, out: Array) -> None:
    """How far colours lie from the nearest of the 3 x 3 around in the other picture, the larger of both ways.

    a, b (3, h + 2, w + 2); out (h, w).
    """
    height, width = out.shape
    best = np.empty((2, width), np.float32)
    for y in range(height):
        best[:] = np.inf
        for way in range(2):
            first, second = (a, b) if way == 0 else (b, a)
            for dy in range(3):
                for dx in range(3):
                    for x in range(width):
                        far = max(
                            abs(first[0, y + 1, x + 1] - second[0, y + dy, x + dx]),
                            abs(first[1, y + 1, x + 1] - second[1, y + dy, x + dx]),
                            abs(first[2, y + 1, x + 1] - second[2, y + dy, x + dx]),
                        )
                        best[way, x] = min(best[way, x], far)
        for x in range(width):
            out[y, x] = max(best[0, x], best[1, x])
