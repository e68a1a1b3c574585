"""Places where a picture shows things, the choice among those that overlap, and their tracks in a video.

Tracks are numbers for the things in the frames of a video: a thing near its previous place keeps its number.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy
import shapely

from matching._common import opencv
from matching._common.types import Floats
from matching.labels.references import Polygon
from matching.objects.confidence import DOUBTFUL, DOUBTFUL_FACTOR, measure_certainty, name_certainty
from matching.objects.copies import is_mostly_within
from matching.objects.description import MatchedObject
from matching.objects.frames import list_corners
from matching.objects.transforms import apply_transform, fit_corners
from matching.output.places import cut_at_edges

MAX_SHORT = 0.08  # of the sides of a box by which the outline of all of the thing may end before it
MAX_MISSED_FRAMES = 5  # in a row, after which a thing that is seen again has a new number


@dataclass(frozen=True)
class Place:
    """A place where a picture shows a thing."""

    name: str  # of its class
    polygon: Polygon  # the outline, pixels
    score: float  # in [0, 1]: how sure it is that the thing is there, by significance and agreement
    rank: float  # decides which of several overlapping places is kept
    whole: bool = True  # False if it shows only a part, which other things may also have
    same: bool | None = None  # whether it shows the same as the reference; None if it can't be told
    doubt: str = ""  # why it is doubtful, in words
    track: int | None = None  # number of the thing in consecutive frames
    frame: Polygon | None = None  # of a part, where all of the thing should be

    @property
    def confidence(self) -> str:
        """The score in words: "sure", "likely" or "look at it"."""
        return name_certainty(self.score)

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Left, top, right and bottom, pixels."""
        x, y = zip(*self.polygon, strict=True)
        return min(x), min(y), max(x), max(y)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Place:
        """Restore a place from the JSON of its `dataclasses.asdict`."""
        return cls(**{key: _freeze(value) for key, value in values.items()})

    @property
    def completed(self) -> Place:
        """The place with all of the thing."""
        return replace(self, polygon=self.frame or self.polygon, whole=True)


def _freeze(value: Any) -> Any:
    """Turn lists at any depth into tuples."""
    return tuple(map(_freeze, value)) if isinstance(value, list) else value


def find_places(
    name: str, objects: Iterable[MatchedObject], shape: Polygon | None, box: Floats, size: tuple[int, int]
) -> list[Place]:
    """Find the places of one thing; box (2, 2)."""
    places = []
    for found in objects:
        polygon, frame = found.outline1, found.frame1
        spans = shape is not None and _spans_box(found.outline0, shape)
        if frame is not None:
            if shape is not None:
                frame = apply_transform(fit_corners(list_corners(box), frame), np.array(shape))
            frame = cut_at_edges(frame, size)
            polygon = frame if found.is_whole else polygon
        place = make_place(name, cut_at_edges(polygon, size), found, whole=found.is_whole or spans)
        if frame is not None and len(frame) and not place.whole:
            place = replace(place, frame=round_outline(frame))
        places.append(place)
    return places


def join_parts(objects: Sequence[MatchedObject], places: Sequence[Place]) -> dict[int, Place]:
    """Join parts of one copy of a thing, such as the sides of a fold: places by the numbers of their objects.

    The parts show different parts of the reference, and each lies mostly within the frame of the other.
    """
    shapes = {
        k: [shapely.make_valid(shapely.Polygon(x)) for x in (objects[k].outline0, place.polygon, place.frame)]
        for k, place in enumerate(places)
        if place.frame
    }

    def completes(k: int, other: int) -> bool:
        (part, shown, _), (other_part, _, frame) = shapes[k], shapes[other]
        return is_mostly_within(shown, frame) and not is_mostly_within(part, other_part)

    joined = dict(enumerate(places))
    for k, n in itertools.combinations(sorted(shapes, key=lambda k: -places[k].rank), 2):
        if k in joined and n in joined and completes(k, n) and completes(n, k):
            hull = opencv.convex_hull(np.array([*joined[k].polygon, *joined.pop(n).polygon]))
            joined[k] = replace(joined[k], polygon=round_outline(hull))
    return joined


def _spans_box(outline: Floats, shape: Polygon) -> bool:
    """Whether an outline (k, 2) reaches all sides of a shape that is an upright box.

    Then it is all of the thing, however much ground the box around a turned thing has.
    """
    corners = np.array(shape)
    box = np.array([corners.min(axis=0), corners.max(axis=0)])
    if len(corners) != 4 or not np.isclose(corners[:, None], box).any(axis=1).all():
        return False
    ends = np.array([outline.min(axis=0), outline.max(axis=0)])
    return bool((np.abs(ends - box) <= MAX_SHORT * np.ptp(box, axis=0)).all())


def make_place(name: str, polygon: Floats, found: MatchedObject, *, whole: bool = True) -> Place:
    """Make a place with the outline (k, 2), as sure as an object; without significance, by its own score."""
    reasons = {
        found.doubt: found.doubt != "",
        "what lies between the matches can't confirm it": found.is_doubtful is True,
        "so few matches may agree by chance": found.confidence == DOUBTFUL and not found.is_doubtful,
    }
    score = found.score
    if found.confidence is not None:
        is_doubtful = True if found.is_same is False else found.is_doubtful
        score = measure_certainty(found.log_nfa, is_doubtful)
    doubt = "; ".join(reason for reason, holds in reasons.items() if holds)
    return Place(name, round_outline(polygon), round(score, 4), found.rank, whole, found.is_same, doubt)


def round_outline(polygon: Floats) -> Polygon:
    """Round an outline (k, 2) to hundredths of a pixel."""
    return tuple((x, y) for x, y in np.round(polygon, 2).tolist())


def mark_different(place: Place, reason: str) -> Place:
    """Mark a place that shows something else than its reference."""
    score = place.score if place.same is False else round(place.score * DOUBTFUL_FACTOR, 4)
    return replace(place, same=False, score=score, doubt="; ".join(filter(None, (place.doubt, reason))))


def choose_places(places: Sequence[Place]) -> list[Place]:
    """Choose among places that overlap: whole things before parts, what differs last, then by the rank."""
    chosen: list[Place] = []
    for place in sorted(places, key=lambda p: (not p.whole, p.same is False, -p.rank, p.name, p.polygon)):
        if not any(are_at_one_place(place, other) for other in chosen):
            chosen.append(place)
    return chosen


def are_at_one_place(place: Place, other: Place) -> bool:
    """Test whether places are equal (intersection over union above 0.5), or the first a part of the other."""
    shape, other_shape = (shapely.make_valid(shapely.Polygon(one.polygon)) for one in (place, other))
    common = shapely.area(shapely.intersection(shape, other_shape))
    union = shapely.area(shape) + shapely.area(other_shape) - common
    is_part = other.whole and not place.whole and is_mostly_within(shape, other_shape)
    return bool(2 * common > union or is_part)


def sort_frames(names: Sequence[str]) -> list[int]:
    """Sort the names of frames by the numbers in them -> rows in this order."""

    def key(row: int) -> list[int | str]:
        parts = re.split(r"(\d+)", names[row])  # every other one is a number
        return [int(part) if k % 2 else part for k, part in enumerate(parts)]

    return sorted(range(len(names)), key=key)


def number_tracks(frames: Sequence[Sequence[Place]]) -> list[list[int]]:
    """Number things in consecutive frames by the assignment with the smallest sum of relative distances.

    A thing moves by at most its size from one frame to the next.
    """
    last: dict[int, tuple[int, Place]] = {}  # for each track, the last frame and the place there
    numbers, n = [], 0
    for k, places in enumerate(frames):
        tracks = [number for number, (seen, _) in last.items() if k - seen <= MAX_MISSED_FRAMES + 1]
        distance = np.array([[_distance(last[t][1], place) for place in places] for t in tracks])
        distance = distance.reshape(len(tracks), len(places))
        row = [0] * len(places)
        for i, j in zip(*scipy.optimize.linear_sum_assignment(np.minimum(distance, 2)), strict=True):
            if distance[i, j] <= 1:
                row[j] = tracks[i]
        for j, place in enumerate(places):
            if not row[j]:
                n += 1
                row[j] = n
            last[row[j]] = k, place
        numbers.append(row)
    return numbers


def _distance(a: Place, b: Place) -> float:
    """The distance of two places, in sizes of the thing; infinite if they show different things."""
    if a.name != b.name:
        return np.inf
    low, high = np.array([a.box, b.box]).reshape(2, 2, 2).swapaxes(0, 1)
    size = np.linalg.norm(high - low, axis=1).mean()
    return float(np.linalg.norm(np.diff((low + high) / 2, axis=0)) / max(size, 1e-9))
