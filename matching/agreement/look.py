"""The dense agreement map of an object, and what it tells: whether it exists, is the same, and ends where."""

from __future__ import annotations

from dataclasses import dataclass, replace

from matching._common.types import Array, Bools, Floats
from matching.agreement.completeness import measure_completeness
from matching.agreement.differences import find_differences
from matching.agreement.existence import Existence, measure_existence
from matching.agreement.extent import Extent, find_extent
from matching.agreement.grid import Ends, choose_base, count_places, fit_map, lay_grid, measure_filled
from matching.agreement.likelihood import weigh_windows
from matching.agreement.resemblance import Resemblance, measure_resemblance
from matching.agreement.windows import correlate_windows
from matching.objects.completeness import Completeness
from matching.objects.differences import Difference

# Share of the print: if only larger differences could be found, it can't be told whether the object is the
# same.
MAX_SMALLEST_DIFFERENCE = 0.1


@dataclass(frozen=True, eq=False)
class Agreement:
    """What lies between the matches of an object.

    Parameters
    ----------
    existence : Existence or Resemblance
        Whether it is an object at all; the latter if it joins two places of one picture.
    differences : tuple of Difference
        Where it shows another print, the one with most evidence first.
    smallest_difference : float
        The smallest difference that could be found, as a share of its print, plus the share that may as well
        be another print as light or a bend; 1 if none could be found.
    extent : Extent or None
        Where it ends; None if it joins two places of one picture.
    completeness : Completeness or None
        How much of picture 0 it shows; None if that can't be told, as without the frames.
    """

    existence: Existence | Resemblance
    differences: tuple[Difference, ...]
    smallest_difference: float
    extent: Extent | None
    completeness: Completeness | None = None

    @property
    def is_object(self) -> bool | None:
        """True if it is an object, False if it is none, None if it can't be told.

        What shows another print in some place only is alike, as another card of one deck.
        """
        is_object = self.existence.is_object
        return None if self.differences and not is_object else is_object

    @property
    def is_same(self) -> bool | None:
        """False if it differs somewhere, True if it does not, None if it can't be told."""
        if self.differences:
            return False
        is_told = self.is_object is True and self.smallest_difference <= MAX_SMALLEST_DIFFERENCE
        return True if is_told else None

    @property
    def swapped(self) -> Agreement:
        """The same with the pictures in the other order."""
        differences = tuple(
            replace(one, polygon0=one.polygon1, polygon1=one.polygon0) for one in self.differences
        )
        extent = self.extent and Extent(self.extent.outline1, self.extent.outline0)
        return replace(self, differences=differences, extent=extent)


def look_between(
    image0: Array,
    image1: Array,
    xy0: Floats,
    xy1: Floats,
    *,
    shown0: Bools | None = None,
    shown1: Bools | None = None,
    tolerance: float = 5.0,
    of_one: bool = False,
    frames: tuple[Floats, Floats] | None = None,
) -> Agreement:
    """Look at what lies between the matches of an object.

    Parameters
    ----------
    image0, image1 : (h, w, 3) uint8
        The pictures, RGB; twice the same one if the object joins two places of it.
    xy0, xy1 : (m, 2) float64
        The matches of the object, pixels.
    shown0, shown1 : (h, w) bool, optional
        Where the pictures show anything; by default, everywhere.
    tolerance : float
        Pixels of a picture by which matches may be off.
    of_one : bool
        Whether both places are in one picture, with the same light and sharpness.
    frames : ((4, 2) float64, (4, 2) float64), optional
        The corners of picture 0 in picture 0 and in picture 1, pixels.

    Returns
    -------
    Agreement
        The same if the pictures are swapped, and for any number of threads.
    """
    frame0, frame1 = frames or (None, None)
    base, other = Ends(image0, xy0, shown0, frame0), Ends(image1, xy1, shown1, frame1)
    if choose_base(base, other):
        return _look(other, base, tolerance, of_one, is_swapped=True).swapped
    return _look(base, other, tolerance, of_one, is_swapped=False)


def _look(base: Ends, other: Ends, tolerance: float, of_one: bool, is_swapped: bool) -> Agreement:
    smooth_map = fit_map(base, other, tolerance)
    grid = lay_grid(base, other, smooth_map)
    windows = correlate_windows(grid)
    likelihood = weigh_windows(grid, windows)
    differences, unclear = find_differences(grid, windows, likelihood)
    return Agreement(
        measure_resemblance(base, other, smooth_map)
        if of_one
        else measure_existence(grid, windows, count_places(base, other)),
        differences,
        likelihood.smallest + unclear,
        None if of_one else find_extent(grid, windows, likelihood, measure_filled(base, other)),
        measure_completeness(grid, windows, base, other, is_swapped=is_swapped),
    )
