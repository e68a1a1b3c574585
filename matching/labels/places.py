"""Places where a picture shows things, and the choice among those that overlap."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely

from matching._common.types import Floats
from matching.labels.references import Polygon
from matching.objects.copies import is_mostly_within
from matching.objects.description import MatchedObject
from matching.objects.frames import list_corners
from matching.objects.transforms import apply_transform, fit_corners
from matching.output.places import cut_at_edges


@dataclass(frozen=True)
class Place:
    """A place where a picture shows a thing."""

    name: str  # of its class
    polygon: Polygon  # the outline, pixels
    score: float
    confidence: str | None
    rank: float  # decides which of several overlapping places is kept
    whole: bool = True  # False if it shows only a part, which other things may also have

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Left, top, right and bottom, pixels."""
        x, y = zip(*self.polygon, strict=True)
        return min(x), min(y), max(x), max(y)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Place:
        """Restore a place from the JSON of its `dataclasses.asdict`."""
        return cls(**{**values, "polygon": tuple((x, y) for x, y in values["polygon"])})


def find_places(
    name: str, objects: Iterable[MatchedObject], shape: Polygon | None, box: Floats, size: tuple[int, int]
) -> list[Place]:
    """Find the places of one thing; box (2, 2)."""
    places = []
    for found in objects:
        polygon = found.outline1
        if found.is_whole and found.frame1 is not None:
            polygon = found.frame1
            if shape is not None:
                polygon = apply_transform(fit_corners(list_corners(box), polygon), np.array(shape))
        corners = np.round(cut_at_edges(polygon, size), 2).tolist()
        outline = tuple((x, y) for x, y in corners)
        places.append(
            Place(name, outline, round(found.score, 4), found.confidence, found.rank, found.is_whole)
        )
    return places


def choose_places(places: Sequence[Place]) -> list[Place]:
    """Choose among places that overlap: whole things before parts, then the highest rank first."""
    chosen: list[Place] = []
    shapes: list[Any] = []
    for place in sorted(places, key=lambda p: (not p.whole, -p.rank, p.name, p.polygon)):
        shape = shapely.make_valid(shapely.Polygon(place.polygon))
        if not any(_is_same(place, shape, *other) for other in zip(chosen, shapes, strict=True)):
            chosen.append(place)
            shapes.append(shape)
    return chosen


def _is_same(place: Place, shape: Any, other: Place, other_shape: Any) -> bool:
    """Test whether a place equals a chosen one (intersection over union above 0.5), or is a part of it."""
    common = shapely.area(shapely.intersection(shape, other_shape))
    union = shapely.area(shape) + shapely.area(other_shape) - common
    is_part = other.whole and not place.whole and is_mostly_within(shape, other_shape)
    return bool(2 * common > union or is_part)
