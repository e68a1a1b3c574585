"""What the stages of a pair read, and what they hand on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from matching._common.types import Floats
from matching.config import MatchConfig
from matching.features.extraction import Features
from matching.features.views import ViewedPicture
from matching.objects.description import MatchedObject
from matching.objects.things import Thing
from matching.pictures.images import Picture
from matching.pipelines.description import DescribedPicture

FindViews = Callable[[], ViewedPicture]
FindDetails = Callable[[], DescribedPicture]
Pair = tuple[DescribedPicture, DescribedPicture]


@dataclass(frozen=True, eq=False)
class PairContext:
    """What the stages of a pair read.

    Parameters
    ----------
    first, second : DescribedPicture
        The pictures, in the order of the stages.
    config : MatchConfig
        The settings.
    views, details : sequence of callable, optional
        Give the views of either picture, and its features at its own size, in the same order.
    pictures : sequence of Picture, optional
        Picture 0 and picture 1.
    swapped : bool
        Whether the first is picture 1.
    """

    first: DescribedPicture
    second: DescribedPicture
    config: MatchConfig
    views: Sequence[FindViews] | None = None
    details: Sequence[FindDetails] | None = None
    pictures: Sequence[Picture] | None = None
    swapped: bool = False

    @property
    def features(self) -> tuple[Features, Features]:
        """Those of both pictures."""
        return self.first.features, self.second.features

    @property
    def steps(self) -> tuple[Floats, Floats]:
        """(2,) float64 each: pixels of the pictures in a working pixel."""
        return self.first.step, self.second.step


@dataclass(frozen=True, eq=False)
class PairState:
    """What is known of a pair, as far as its stages have come.

    Parameters
    ----------
    seen : tuple of DescribedPicture
        What was looked at: the pictures at their working size, or closer.
    candidates, reserve : Candidates
        The best, and the next best; from `grouping` on all are in `candidates`.
    n_listed : int
        How many the result lists.
    groups : Groups
        What is found among the candidates.
    located : Located
        The same in pixels of the pictures, from `listing` on.
    negative : bool
        Whether what is found shows in one picture in negative.
    objects, things : tuple
        The objects, described, and which show the same.
    """

    seen: Pair
    candidates: Any = None
    reserve: Any = None
    n_listed: int = 0
    groups: Any = None
    located: Any = None
    negative: bool = False
    objects: tuple[MatchedObject, ...] = ()
    things: tuple[Thing, ...] = ()
