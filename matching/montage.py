"""Pictures made of pictures: contact sheets, pages of panels, catalogues.

Things on two sides of a seam are different objects, even where they stand side by side in the same order in
both pictures and so move as one. A seam is a straight line of rows or columns across the whole picture, where
the grey value steps from one pixel to the next: no lens draws an edge that sharp. The blocks of a JPEG file
and the squares of an enlarged picture have such edges too, but many of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from matching.errors import check_at_least

LEAST_CELL = 0.2  # of the side
MAX_CELLS = 64  # more than any montage has


@dataclass(frozen=True)
class MontageConfig:
    """What counts as a seam."""

    min_step: int = 3  # grey levels between the two pixels
    sharpness: float = 1.5  # times the largest step within two pixels on either side
    strong_share: float = 0.5  # of the line's pixels that step so
    weak_share: float = 0.3  # enough in a picture that has two strong seams
    most_lines: int = 16  # that seams make, gutters having two edges ...
    stands_out: float = 2.0  # ... and times the share of the next line that a seam must have
    min_cell: float = 0.2  # of the picture's side, between seams and to the border

    def __post_init__(self):
        check_at_least(self, min_step=0, sharpness=1, strong_share=0.01, weak_share=0.01)
        check_at_least(self, most_lines=1, stands_out=0, min_cell=LEAST_CELL)


def montage_cells(grey, xy, config=MontageConfig()):
    """(n,) int64: the cell of the montage that each point (n, 2) lies in, 0 without seams."""
    if config is None:
        return np.zeros(len(xy), np.int64)
    columns, rows = seams(grey, config)
    return np.searchsorted(columns, xy[:, 0]) + (len(columns) + 1) * np.searchsorted(rows, xy[:, 1])


def seams(grey, config=MontageConfig()):
    """Positions of the vertical and of the horizontal seams, rising: pixels, between pixel centres."""
    shares = [_sharp_share(g, config) for g in (grey, np.ascontiguousarray(grey.T))]
    strong = [_peaks(share, config.strong_share, config) for share in shares]
    if sum(map(len, strong)) < 2:
        return strong
    return [_peaks(share, config.weak_share, config) for share in shares]


def _sharp_share(grey, config):
    """(w - 1,) float64: share of the rows that step sharply between columns x and x + 1."""
    step = np.maximum(grey[:, 1:], grey[:, :-1]) - np.minimum(grey[:, 1:], grey[:, :-1])  # (h, w - 1)
    share = np.zeros(max(grey.shape[1] - 1, 0))
    if len(share) >= 5:
        middle = step[:, 2:-2]
        around = np.maximum(np.maximum(step[:, :-4], step[:, 1:-3]), np.maximum(step[:, 3:-1], step[:, 4:]))
        share[2:-2] = ((middle > np.float32(config.sharpness) * around) & (middle > config.min_step)).mean(
            axis=0
        )
    return share


def _peaks(share, least, config):
    """Positions of the highest shares, at least `least` and far above the many, no cell being narrower than
    allowed.
    """
    width = len(share) + 1
    if len(share) > config.most_lines:
        least = max(least, config.stands_out * np.sort(share)[-1 - config.most_lines])
    margin = max(int(np.ceil(config.min_cell * width)), 1)
    open_ = share.copy()
    open_[: margin - 1] = open_[max(width - margin, 0) :] = 0
    found = []
    while open_.max(initial=0) >= least:
        x = int(open_.argmax())
        found.append(x + 0.5)
        open_[max(x - margin + 1, 0) : x + margin] = 0
    return np.sort(np.array(found))
