"""What two pictures of one object look like beside each other."""

import math
from dataclasses import dataclass

from matching.objects.differences import Difference


@dataclass(frozen=True, eq=False)
class Comparison:
    """What differs between both pictures of one object.

    Parameters
    ----------
    is_same : bool or None
        True if nothing differs, and a place of one character or of 0.1 % of the print, whichever is smaller,
        would have been found; False if something differs; None if it can't be told.
    differences : tuple of Difference
        The places where the pictures do not show the same print, the one with most evidence first.
    smallest_difference : float
        Pixels of picture 0: the size (square root of the area) from which a difference would have been found;
        inf where nothing was compared.
    appearance : tuple of str
        In what picture 1 looks other than picture 0: "in grey", "in another colour", "darker", "brighter",
        "less sharp", "sharper".
    """

    is_same: bool | None = None
    differences: tuple[Difference, ...] = ()
    smallest_difference: float = math.inf
    appearance: tuple[str, ...] = ()
