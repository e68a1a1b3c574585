"""The context of the stages of a pair, and the state that they pass on."""

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
    """The context of the stages of a pair."""

    first: DescribedPicture
    second: DescribedPicture
    config: MatchConfig
    views: Sequence[FindViews] | None = None  # find the views of each picture
    details: Sequence[FindDetails] | None = None
    pictures: Sequence[Picture] | None = None  # picture 0 and picture 1
    swapped: bool = False  # whether `first` is picture 1

    @property
    def features(self) -> tuple[Features, Features]:
        """The features of both pictures."""
        return self.first.features, self.second.features

    @property
    def steps(self) -> tuple[Floats, Floats]:
        """(2,) float64 each: the pixels of each picture per working pixel."""
        return self.first.step, self.second.step


@dataclass(frozen=True, eq=False)
class PairState:
    """The state of a pair; the stages fill its fields in turn."""

    seen: Pair  # the pictures at their working size, or larger
    candidates: Any = None  # the best; from "grouping" on, also the reserve: the next best
    reserve: Any = None
    n_listed: int = 0  # candidates that the result lists
    groups: Any = None  # Groups of the candidates
    located: Any = None  # Located: candidates and groups in pixels of the pictures, from "listing" on
    negative: bool = False  # whether one picture shows the objects in negative
    objects: tuple[MatchedObject, ...] = ()
    things: tuple[Thing, ...] = ()
