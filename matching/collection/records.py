"""Results for one picture and for one pair, which a worker sends, and the database keeps."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from matching._common.once import Later
from matching._common.types import Array
from matching.drivers.result import Result
from matching.objects.comparison import Comparison
from matching.objects.completeness import Completeness
from matching.objects.description import UNKNOWN, MatchedObject
from matching.objects.differences import Difference
from matching.objects.frames import Motion

ARRAYS = ("outline0", "outline1", "transform", "frame1", "points0", "points1")  # of an object


@dataclass(frozen=True, eq=False)
class ImageRecord:
    """A picture, described or failed."""

    id: int  # in the database
    content: str | None  # SHA-256 of the file, 64 hexadecimal digits; None if it can't be read
    width: int | None = None  # pixels, as displayed; None if it failed
    height: int | None = None
    n_features: int | None = None
    error: str | None = None  # why it failed


@dataclass(frozen=True, eq=False)
class PairRecord:
    """A pair, matched or failed."""

    id: int  # in the database
    n_candidates: int = 0
    objects: tuple[MatchedObject, ...] = ()
    # (n, 7) float64, the matches in objects: candidate, object, x0, y0, x1, y1 (pixels), score
    matches: Array = field(default_factory=lambda: np.empty((0, 7)))
    timings: dict[str, float] = field(default_factory=dict)  # seconds by step
    error: str | None = None  # why it failed


@dataclass(frozen=True, eq=False)
class IndexedRecord:
    """A picture of a kept index, described or failed."""

    id: int  # in the index
    content: str | None = None  # SHA-256 of the file; None if it can't be read
    bytes: int | None = None  # size of the file; None if it can't be read
    modified: int | None = None  # time of the file, nanoseconds; None if it can't be read
    entries: Array | None = None  # (n,) ENTRY, the descriptors as an index stores them; None if it failed
    error: str | None = None  # why it failed


def make_pair_record(number: int, result: Result) -> PairRecord:
    """Keep the objects of a result, and the matches in them."""
    kept = np.flatnonzero(result.cluster >= 0)
    columns = result.cluster, result.xy0, result.xy1, result.score
    matches = np.column_stack([kept, *(column[kept] for column in columns)])
    return PairRecord(number, len(result.cluster), result.objects, matches, result.timings)


def to_json(found: MatchedObject) -> str:
    """Write an object without its points, which are kept as matches."""
    none = np.empty((0, 2))
    values = asdict(replace(found, points0=none, points1=none, compared=UNKNOWN))
    return json.dumps(values | {"compared": asdict(found.compared.read())}, default=np.ndarray.tolist)


def from_json(text: str) -> MatchedObject:
    """Restore an object that `to_json` wrote."""
    values = json.loads(text)
    if values["motion"] is not None:
        values["motion"] = Motion(**_restore_arrays(values["motion"], ("centre", "shift")))
    if values["completeness"] is not None:
        values["completeness"] = Completeness(**values["completeness"])
    compared = values["compared"]
    places = tuple(map(Difference.from_json, compared["differences"]))
    told = Comparison(**{**compared, "differences": places, "appearance": tuple(compared["appearance"])})
    values["compared"] = Later.known(told)
    return MatchedObject(**_restore_arrays(values, ARRAYS))


def _restore_arrays(values: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return values | {name: np.array(values[name]) for name in names if values[name] is not None}
