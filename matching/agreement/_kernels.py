"""The compiled loop over displaced windows, documented where it is called."""

import numpy as np

from gdl_core.jit import njit
from matching._common.types import Array


@njit(fastmath={"contract", "reassoc", "nsz"})
def correlate_displaced(
    a: Array, mean_a: Array, b: Array, mean_b: Array, unit_b: Array, half: int, step: int, reach: int,
    free: Array, around: Array,
) -> None:  # fmt: skip
    """Raise `free` by the correlations within `reach`, and `around` by those farther away.

    a (h + 2 half, w + 2 half); b (h + 2 half + 2 far, w + 2 half + 2 far); mean_a (h, w); mean_b, unit_b
    (h + 2 far, w + 2 far); free, around (rows, w) for every `step`-th row. Not divided by the spread of A.
    """
    height, width = mean_a.shape
    far, side = (mean_b.shape[0] - height) // 2, 2 * half + 1
    share = np.float32(1 / side**2)
    column, total = np.zeros(width + 2 * half, np.float32), np.zeros(width, np.float32)
    for row in range(free.shape[0]):
        y = row * step
        for dy in range(2 * far + 1):
            for dx in range(2 * far + 1):
                column[:] = 0
                for k in range(side):
                    for x in range(width + 2 * half):
                        column[x] += a[y + k, x] * b[y + k + dy, x + dx]
                total[:] = 0
                for k in range(side):
                    for x in range(width):
                        total[x] += column[x + k]
                best = free[row] if max(abs(dy - far), abs(dx - far)) <= reach else around[row]
                for x in range(width):
                    product = total[x] * share - mean_a[y, x] * mean_b[y + dy, x + dx]
                    best[x] = max(best[x], product * unit_b[y + dy, x + dx])
