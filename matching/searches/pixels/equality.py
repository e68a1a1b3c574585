"""What is equal in two pictures, but for the noise of compression and resampling."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from matching._common import opencv
from matching._common.types import Array, Bools, Floats
from matching.grouping.ledger import IN_OBJECT
from matching.searches.proposals import Listing, Proposal

BLOCK = 4  # pixels: side of a square that shows print or not
MIN_RANGE = 24  # grey levels in a square with print
# Grey levels: largest difference of the means of equal squares, with 3 pixels a side at the same scale and 5
# at others. Of 24 pieces of drawn screens, copies have up to 26, and the best other places 49 and more.
MAX_DIFFERENCE, SIDES = 32, (3, 5)
# Log10 of the chance that a square with print is equal; no record of a choice. Most squares are edges.
LOG_CHANCE = -1.0


def find_print(rgb: Array, core: Bools | None) -> Floats:
    """Find the squares of a picture (h, w, 3) that show print, and lie in core (h, w) -> (n, 2), centres."""
    has_print = np.asarray(np.ptp(split_squares(opencv.luma(rgb), BLOCK), axis=(1, 3)) >= MIN_RANGE)
    if core is not None:
        has_print &= split_squares(core, BLOCK).all(axis=(1, 3))
    return _list_centres(has_print)


def list_inside(core: Bools) -> Floats:
    """List every second pixel of every second row of core (h, w) -> (n, 2)."""
    return np.asarray(2.0 * np.argwhere(core[::2, ::2])[:, ::-1])


def split_squares(values: Array, side: int) -> Array:
    """Pixels (h, w) by squares (h / side, side, w / side, side), without what is left at the edges."""
    height, width = (n // side for n in values.shape)
    return values[: side * height, : side * width].reshape(height, side, width, side)


def _list_centres(squares: Bools) -> Floats:
    """The centres (n, 2) of squares (h / BLOCK, w / BLOCK), pixels."""
    return np.asarray(np.argwhere(squares)[:, ::-1] * float(BLOCK) + (BLOCK - 1) / 2, np.float64)


def measure_difference(first: Array, second: Array, side: int) -> Array:
    """The largest difference of the channels, averaged over squares: (h, w, 3) twice -> (h, w)."""
    return opencv.largest_difference(opencv.box_mean(first, side), opencv.box_mean(second, side))


def list_equal(
    ends: Sequence[tuple[Floats, Floats]], log_nfas: Sequence[float], shares: Sequence[float]
) -> Listing:
    """Propose equal places: for each, points (n, 2) in both pictures, and the share of it that is equal."""
    stops = np.cumsum([len(xy0) for xy0, _ in ends])
    proposals = tuple(
        Proposal(
            np.arange(stop - len(xy0), stop), xy0, xy1, np.zeros(len(xy0)), 1.0, np.ones(2), log_nfa,
            likeness=share,
        )
        for (xy0, xy1), stop, log_nfa, share in zip(ends, stops, log_nfas, shares, strict=True)
    )  # fmt: skip
    xy0, xy1 = (np.concatenate(points) for points in zip(*ends, strict=True))
    return Listing(xy0, xy1, np.zeros(len(xy0)), np.full(len(xy0), IN_OBJECT, np.int8), proposals)
