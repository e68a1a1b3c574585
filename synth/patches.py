"""Photographs with a patch that is copied to another place, which hides or duplicates something.

A copy has the light of its patch, and may be turned, larger or smaller; its edge may fade into its
surroundings.
"""

import cv2
import numpy as np

from synth._types import Picture
from synth.pages import Page

LIVELY = 15.0  # grey levels: standard deviation of a patch that shows something
TRIES = 60  # places to try for a patch, and for its copy
APART = 16  # fewest pixels between a patch and its copy


def copy_patch(
    photograph: Picture,
    rng: np.random.Generator,
    side: int,
    angle: float = 0.0,
    scale: float = 1.0,
    fade: float = 0.0,
) -> Page:
    """Copy a square patch of a photograph to another place.

    The patch shows something: its grey levels vary by at least `LIVELY`. If none of `TRIES` random patches
    shows that much, the liveliest of them is copied.

    Parameters
    ----------
    photograph : (h, w, 3) uint8
        RGB; if each side is at least four times that of the patch, there is room for a copy of the same size.
    rng : numpy.random.Generator
        Source of random numbers.
    side : int
        Side of the patch, pixels.
    angle : float
        Angle by which the copy is turned, degrees.
    scale : float
        Side of the copy over that of the patch.
    fade : float
        Width of the band along the copy's edge in which it fades into its surroundings, as a share of `side`.

    Returns
    -------
    Page
        The changed photograph, with one thing: the boxes around the patch and around its copy.
    """
    h, w = photograph.shape[:2]
    turn = np.deg2rad(angle)
    extent = int(np.ceil(side * scale * (abs(np.cos(turn)) + abs(np.sin(turn)))))
    if min(h, w) < extent + 2 or min(h, w) < side:
        raise ValueError(f"a patch of {side} px needs a larger photograph than {w} x {h}")
    grey = cv2.cvtColor(photograph, cv2.COLOR_RGB2GRAY)
    best, x, y = -1.0, 0, 0
    for _ in range(TRIES):
        own_x, own_y = int(rng.integers(0, w - side + 1)), int(rng.integers(0, h - side + 1))
        lively = float(grey[own_y : own_y + side, own_x : own_x + side].std())
        if lively > best:
            best, x, y = lively, own_x, own_y
        if lively >= LIVELY:
            break
    for _ in range(TRIES):
        left, top = int(rng.integers(0, w - extent + 1)), int(rng.integers(0, h - extent + 1))
        gap = max(left - x - side, x - left - extent, top - y - side, y - top - extent)
        if gap >= APART:
            break
    else:
        raise ValueError(
            f"no room for the copy of a patch of {side} px in {w} x {h}: "
            "make the patch smaller or the photograph larger"
        )
    matrix = cv2.getRotationMatrix2D((x + side / 2 - 0.5, y + side / 2 - 0.5), -angle, scale)
    matrix = matrix + np.array(
        [[0, 0, left - x + (extent - side) / 2], [0, 0, top - y + (extent - side) / 2]]
    )
    band = fade * side
    ramp = np.clip((np.minimum(np.arange(side), np.arange(side)[::-1]) + 0.5) / band, 0, 1) if band else None
    weight = np.zeros((h, w), np.float32)
    weight[y : y + side, x : x + side] = 1.0 if ramp is None else np.minimum(ramp[:, None], ramp)
    copied = cv2.warpAffine(photograph, matrix, (w, h), flags=cv2.INTER_CUBIC)
    share = cv2.warpAffine(weight, matrix, (w, h), flags=cv2.INTER_LINEAR)[..., None]
    picture = photograph + share * (copied.astype(np.float32) - photograph)
    boxes = (x, y, side, side), (left, top, extent, extent)
    return Page(np.rint(picture).clip(0, 255).astype(np.uint8), (boxes,))
