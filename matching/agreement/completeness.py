"""How much of picture 0 a place shows: the share of its print that agrees on the map, in its colours."""

from __future__ import annotations

import numpy as np

from matching._common import opencv
from matching._common.arrays import find_box
from matching._common.types import Bools, Float32s, Floats
from matching.agreement.grid import Ends, Grid, find_seen
from matching.agreement.windows import MIN_CORRELATION, PRINT_VARIANCE, Windows, measure_windows
from matching.objects.completeness import Completeness
from matching.objects.transforms import apply_transform, fit_corners

# The numbers below were chosen on 75 film covers, with their bends, reflections and light, and on 110 places
# on shelves, of which 47 show other products with a common part.
SMOOTHNESS = 3.0  # pixels of the map, standard deviation: noise of single windows is averaged
COLOUR_SMOOTHNESS = 4.0  # pixels of the map, standard deviation: edges are not registered exactly
MAX_COLOUR_DIFFERENCE = 40.0  # of 255, between equal colours
MIN_PIXELS = 50  # of the map, with print of picture 0: fewer say nothing
LATTICE = 32  # points along each side of picture 0, of which those inside picture 1 are counted


def measure_completeness(
    grid: Grid, windows: Windows, ends: tuple[Ends, Ends], frames: tuple[Floats, Floats], *, is_swapped: bool
) -> Completeness | None:
    """Measure how much of picture 0 an object shows; None if that can't be measured.

    frames: the corners (4, 2) of picture 0 in both pictures. is_swapped: whether picture 1 is the base.
    """
    if not _is_convex(frames[1]):
        return None
    pictures = (grid.grey0, grid.base), (grid.grey1, grid.other)
    (grey0, colours0), (_, colours1) = pictures[::-1] if is_swapped else pictures
    frame = opencv.fill_polygons(grid.seen.shape, [grid.to_map(frames[int(is_swapped)])])
    use = frame & grid.seen & (measure_windows(grey0)[1] > PRINT_VARIANCE)
    visible, covered = _measure_visible(grid, ends, frames, is_swapped)
    if use.sum() < MIN_PIXELS:
        return None
    weight = use.astype(np.float32)
    mean = opencv.gaussian_blur(windows.strict * weight, SMOOTHNESS)
    has_print = mean > MIN_CORRELATION * opencv.gaussian_blur(weight, SMOOTHNESS)
    lit = grid.hull & grid.seen
    has_colour = compare_colours(colours0, colours1, lit if lit.any() else use) < MAX_COLOUR_DIFFERENCE
    shares = [covered * float(same[use].mean()) for same in (has_print & has_colour, has_print, has_colour)]
    return Completeness(shares[0], visible, *shares[1:])


def compare_colours(a: Float32s, b: Float32s, same: Bools) -> Floats:
    """Compare colours in different light: a, b (h, w, 3) -> (h, w).

    The light is measured where both show the same, same (h, w).
    """
    light = (b[same].mean(axis=0) + 1) / (a[same].mean(axis=0) + 1)
    off = opencv.gaussian_blur(b / light - a, COLOUR_SMOOTHNESS)
    return np.asarray(np.linalg.norm(off - off.mean(axis=2, keepdims=True), axis=2))


def _is_convex(frame: Floats) -> bool:
    """Test whether a frame (4, 2) is convex, as any view of a plane is."""
    x, y = (np.roll(frame, -1, axis=0) - frame).T
    turns = np.sign(x * np.roll(y, -1) - y * np.roll(x, -1))
    return bool(abs(turns.sum()) == len(frame))


def _measure_visible(
    grid: Grid, ends: tuple[Ends, Ends], frames: tuple[Floats, Floats], is_swapped: bool
) -> tuple[float, float]:
    """The share of picture 0 that lies inside picture 1, and the share of that part on the map."""
    low, high = find_box(frames[0])
    steps = (np.indices((LATTICE, LATTICE)).reshape(2, -1).T + 0.5) / LATTICE
    xy0 = low + steps * (high - low)
    xy1 = apply_transform(fit_corners(*frames), xy0)
    shown0 = find_seen(ends[0], xy0)
    visible = shown0 & find_seen(ends[1], xy1)
    base = xy1 if is_swapped else xy0
    (left, top), (right, bottom) = grid.xy_base[0, 0], grid.xy_base[-1, -1]
    on_map = (base >= (left, top)).all(axis=1) & (base <= (right, bottom)).all(axis=1)
    if not visible.any():
        return 0.0, 0.0
    return float(visible.sum() / shown0.sum()), float((visible & on_map).sum() / visible.sum())
