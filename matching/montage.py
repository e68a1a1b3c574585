"""Pictures made of pictures: contact sheets, pages of panels, catalogues.

Things on two sides of a seam are different objects, even where they stand side by side in the same order in
both pictures and so move as one. A seam is a straight line of rows or columns across the whole picture, where
the grey value steps from one pixel to the next: no lens draws an edge that sharp.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

MAX_CELLS = 64  # more than any montage has: seams are at least a fifth of the side apart


@dataclass(frozen=True)
class MontageConfig:
    """What counts as a seam."""

    min_step: int = 3  # grey levels between the two pixels
    sharpness: float = 1.5  # times the largest step within two pixels on either side
    min_share: float = 0.5  # of the line's pixels that step so
    min_cell: float = 0.2  # of the picture's side, between seams and to the border


def montage_cells(grey, xy, config=MontageConfig()):
    """(n,) int64: the cell of the montage that each point (n, 2) lies in, 0 without seams."""
    if config is None:
        return np.zeros(len(xy), np.int64)
    columns, rows = seams(grey, config), seams(grey.T, config)
    return np.searchsorted(columns, xy[:, 0]) + (len(columns) + 1) * np.searchsorted(rows, xy[:, 1])


def seams(grey, config=MontageConfig()):
    """Positions x (s,) float64 of the vertical seams, rising: pixels, between columns x - 0.5 and x + 0.5."""
    width = grey.shape[1]
    margin = max(int(np.ceil(config.min_cell * width)), 3)
    if width < 2 * margin + 1:
        return np.empty(0)
    step = np.abs(
        np.diff(grey.astype(np.int16), axis=1)
    )  # (h, w - 1), step[:, x] between columns x and x + 1
    middle = step[:, 2:-2]
    around = np.maximum(np.maximum(step[:, :-4], step[:, 1:-3]), np.maximum(step[:, 3:-1], step[:, 4:]))
    share = np.zeros(width - 1)
    share[2:-2] = ((middle > config.sharpness * around) & (middle > config.min_step)).mean(axis=0)
    share[: margin - 1] = share[width - margin :] = 0
    found = []
    while share.max() >= config.min_share:
        x = int(share.argmax())
        found.append(x + 0.5)
        share[max(x - margin + 1, 0) : x + margin] = 0
    return np.sort(np.array(found))
