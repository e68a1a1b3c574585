"""What two pictures of one object look like beside each other."""

import math
from dataclasses import dataclass, replace

from matching.objects.differences import Difference

OPPOSITES = {"in grey": "in colour", "darker": "brighter", "less sharp": "sharper"}
OPPOSITES |= {word: opposite for opposite, word in OPPOSITES.items()}
UNTOLD = "can't tell if it is the same"


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

    @property
    def verdict(self) -> str:
        """Whether the pictures are the same, in words.

        "the same (nothing larger than 6 px)", "differs in 2 places", "alike; what is smaller than 40 px can't
        be told", "can't tell if it is the same".
        """
        if n := len(self.differences):
            return f"differs in {n} place{'' if n == 1 else 's'}"
        if self.is_same is False:
            return "differs"
        is_measured = not math.isinf(self.smallest_difference)
        size = f"{self.smallest_difference:.0f} px"
        if self.is_same:
            return f"the same (nothing larger than {size})" if is_measured else "the same"
        return f"alike; what is smaller than {size} can't be told" if is_measured else UNTOLD

    @property
    def words(self) -> str:
        """The verdict, and in what picture 1 looks other: "the same (nothing larger than 6 px), in grey"."""
        return ", ".join((self.verdict, *self.appearance))

    def reverse(self, scale: float) -> "Comparison":
        """Exchange the pictures, but not the polygons of what differs; scale: of picture 0 in picture 1."""
        words = tuple(OPPOSITES.get(word, word) for word in self.appearance)
        return replace(self, smallest_difference=self.smallest_difference * scale, appearance=words)
