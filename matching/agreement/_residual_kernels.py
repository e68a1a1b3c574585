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
        for dy in range(3):
            for dx in range(3):
                for x in range(width):
                    far = max(
                        abs(a[0, y + 1, x + 1] - b[0, y + dy, x + dx]),
                        abs(a[1, y + 1, x + 1] - b[1, y + dy, x + dx]),
                        abs(a[2, y + 1, x + 1] - b[2, y + dy, x + dx]),
                    )
                    best[0, x] = min(best[0, x], far)
                for x in range(width):
                    far = max(
                        abs(b[0, y + 1, x + 1] - a[0, y + dy, x + dx]),
                        abs(b[1, y + 1, x + 1] - a[1, y + dy, x + dx]),
                        abs(b[2, y + 1, x + 1] - a[2, y + dy, x + dx]),
                    )
                    best[1, x] = min(best[1, x], far)
        for x in range(width):
            out[y, x] = max(best[0, x], best[1, x])
