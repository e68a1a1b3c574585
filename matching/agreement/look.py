"""One look at an object: what lies between its matches, each part measured once, when it is asked for.

Whether the object exists is measured on a map of the hull of its matches; where it ends, and how much of
picture 0 it shows, on a wider one.
"""

from __future__ import annotations

from dataclasses import dataclass

from matching._common.once import once
from matching._common.types import Array, Bools, Floats
from matching.agreement.comparison import compare
from matching.agreement.completeness import measure_completeness
from matching.agreement.existence import COARSER, MIN_BLUR, Existence, coarsen, measure_existence
from matching.agreement.extent import Extent, find_extent
from matching.agreement.grid import Ends, Grid, choose_base, count_places, fit_map, lay_grid, measure_filled
from matching.agreement.likelihood import Model, learn, weigh_windows
from matching.agreement.resemblance import Resemblance, measure_resemblance
from matching.agreement.windows import Windows, correlate_windows
from matching.objects.comparison import Comparison
from matching.objects.completeness import Completeness
from matching.objects.deformation import SmoothMap


@dataclass(frozen=True, eq=False)
class Look:
    """What lies between the matches of an object.

    All parts are the same if the pictures are swapped, and for any number of threads.

    Parameters
    ----------
    ends : (Ends, Ends)
        Picture 0 and 1 and the points of the matches; twice the same picture if the object joins two places
        of it.
    tolerance : float
        Pixels of a picture by which matches may be off.
    same_picture : bool
        Whether both places are in one picture, with the same light and sharpness.
    """

    ends: tuple[Ends, Ends]
    tolerance: float
    same_picture: bool = False

    @once
    def is_swapped(self) -> bool:
        """Whether picture 1 is the base."""
        return choose_base(*self.ends)

    @once
    def existence(self) -> Existence | Resemblance:
        """What tells whether it is an object at all."""
        base, other = self._sides
        if self.same_picture:
            return measure_resemblance(base, other, self._map)
        return measure_existence(self._near, self._windows, count_places(base, other))

    def compare(
        self, outlines: tuple[Floats, Floats] | None = None, *, is_largest: bool = False
    ) -> Comparison:
        """What differs between both pictures, at their pixels.

        outlines: (k, 2) of the object in both pictures; None for the hull of its matches. is_largest: whether
        it has the most matches of all objects; then it is all of both pictures if their frames coincide.
        """
        base, other = self._sides
        outline = base.xy if outlines is None else outlines[int(self.is_swapped)]
        return compare(base, other, self._map, outline, is_swapped=self.is_swapped, is_largest=is_largest)

    def look_around(self, frames: tuple[Floats, Floats] | None) -> tuple[Extent, Completeness | None]:
        """Where it ends, and how much of picture 0 it shows, None if that can't be measured.

        frames: the corners (4, 2) of picture 0 in both pictures, pixels; None if they are unknown.
        """
        base, other = self._sides
        frame = None if frames is None else frames[int(self.is_swapped)]
        grid = lay_grid(base, other, self._map, frame, self._near)
        windows = correlate_windows(grid, has_leads=False)
        extent = find_extent(grid, windows, weigh_windows(windows, self._model), measure_filled(base, other))
        if self.is_swapped:
            extent = Extent(extent.outline1, extent.outline0)
        if frames is None:
            return extent, None
        if max(grid.blurs) >= MIN_BLUR:  # all of a box in a blurred photograph: 0.58, and 0.78 when reduced
            grid = coarsen(grid, COARSER[0])
            windows = correlate_windows(grid, has_leads=False)
        return extent, measure_completeness(grid, windows, self.ends, frames, is_swapped=self.is_swapped)

    @once
    def _sides(self) -> tuple[Ends, Ends]:
        """The base and the other picture."""
        return self.ends[::-1] if self.is_swapped else self.ends

    @once
    def _map(self) -> SmoothMap:
        """The smooth map from the base to the other picture."""
        return fit_map(*self._sides, self.tolerance)

    @once
    def _near(self) -> Grid:
        """The map of the hull."""
        return lay_grid(*self._sides, self._map)

    @once
    def _windows(self) -> Windows:
        """The windows of the map of the hull."""
        return correlate_windows(self._near)

    @once
    def _model(self) -> Model | None:
        """How windows of the same and of another print correlate."""
        return learn(self._near, self._windows)


def look_between(
    image0: Array,
    image1: Array,
    xy0: Floats,
    xy1: Floats,
    *,
    shown0: Bools | None = None,
    shown1: Bools | None = None,
    tolerance: float = 5.0,
    same_picture: bool = False,
) -> Look:
    """Look at what lies between matches, xy0, xy1 (m, 2), of two pictures (h, w, 3) uint8.

    shown0, shown1 (h, w): where the pictures show anything; by default, everywhere.
    """
    return Look((Ends(image0, xy0, shown0), Ends(image1, xy1, shown1)), tolerance, same_picture)
