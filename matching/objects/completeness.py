"""Whether a place shows the whole of picture 0, or only a part of it, such as a logo."""

from dataclasses import dataclass

MIN_WHOLE = 0.6  # completeness of a whole copy: of 98 copies, 95 have more, and other products at most 0.59
MIN_VISIBLE_SHARE = 1 / 3  # of picture 0, that a whole copy shows; no record of a choice


@dataclass(frozen=True)
class Completeness:
    """How much of picture 0 a place shows.

    Parameters
    ----------
    value : float
        In [0, 1]: of the print of picture 0 that should be visible, the share that agrees, in its colours.
    visible : float
        In [0, 1]: the share of picture 0 that should be visible because it lies inside picture 1. Only what
        the masks of both pictures show counts.
    print_share, colour_share : float
        The share of that print that agrees, and the share whose colours agree.
    """

    value: float
    visible: float
    print_share: float
    colour_share: float

    @property
    def is_whole(self) -> bool:
        """Whether the place shows the whole, as far as it is visible; at least a third must be visible."""
        return self.value >= MIN_WHOLE and self.visible >= MIN_VISIBLE_SHARE
