"""The compiled loop over differences of Gaussians, documented where it is called.

Notation: dog (l, h, w) float32 are the differences of an octave; s is a layer; y, x are half pixels.
"""

import numpy as np

from gdl_core.jit import inner, njit
from matching._common.types import Array, Scalar

TAPS = np.array([3, -25, 150, 150, -25, 3], np.float32) / np.float32(256)  # Lagrange's formula at the middle
MARGIN = 4  # pixels at the border without key points, because taps reach so far
MAX_STEPS = 8  # largest number of steps from the extremum among pixels to the one among half pixels
MIDDLE_INDEX = 13  # index of the middle of a cube of 27 half pixels


@njit
def climb(dog: Array, layer: Scalar, pixels: Array, column: Array, places: Array, cubes: Array) -> None:
    """Climb from pixels (n, 2) of a layer to extrema among half pixels.

    Fills places (n, 3) with the layers and half pixels y, x of the extrema, or -1 if there is none within
    MAX_STEPS steps. Fills cubes (n, 27) with the values around them, by layer, row and column, with the
    opposite sign if the extremum is a minimum. column (7,) float32 is a buffer.
    """
    height, width = dog.shape[1:]
    for r in range(len(pixels)):
        s, y, x = layer, 2 * pixels[r, 0], 2 * pixels[r, 1]
        sign = np.float32(1) if dog[layer, pixels[r, 0], pixels[r, 1]] > 0 else np.float32(-1)
        places[r, 0] = -1
        for _ in range(MAX_STEPS):
            if not (
                0 < s < len(dog) - 1
                and 2 * MARGIN <= x < 2 * (width - MARGIN)
                and 2 * MARGIN <= y < 2 * (height - MARGIN)
            ):
                break
            first = (y - 1 >> 1) - 2  # the first row that the taps reach
            for a in range(3):
                for c in range(3):
                    for k in range(7 - (y & 1)):
                        column[k] = _half_way(dog[s + a - 1, first + k], x + c - 1)
                    for b in range(3):
                        cubes[r, 9 * a + 3 * b + c] = _half_way(column, y + b - 1 - 2 * first) * sign
            highest = 0
            for k in range(27):
                if cubes[r, k] > cubes[r, highest]:
                    highest = k
            if cubes[r, highest] == cubes[r, MIDDLE_INDEX]:
                places[r, 0], places[r, 1], places[r, 2] = s, y, x
                break
            s, y, x = s + highest // 9 - 1, y + highest // 3 % 3 - 1, x + highest % 3 - 1


@inner
def _half_way(values: Array, x: Scalar) -> Scalar:
    """Compute the value at x / 2 of a row or column."""
    j = x >> 1
    if x & 1 == 0:
        return values[j]
    value = np.float32(0)
    for k in range(6):
        value += TAPS[k] * values[j - 2 + k]
    return value
