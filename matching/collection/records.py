"""Results for one picture and for one pair, which a worker sends, and the database keeps."""

import json
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from matching._common.once import Later
from matching._common.types import Array
from matching.drivers.result import Result
from matching.objects.comparison import Comparison
from matching.objects.completeness import Completeness
from matching.objects.description import MatchedObject
from matching.objects.differences import Difference
from matching.objects.frames import Motion

# the records that an object holds, by the names of their fields
RECORDS: dict[frozenset[str], Any] = {
    frozenset(f.name for f in fields(kind)): kind for kind in (Comparison, Completeness, Difference, Motion)
}


@dataclass(frozen=True, eq=False)
class ImageRecord:
    """A picture, described or failed."""

    id: int  # in the database, or in the index
    content: str | None = None  # SHA-256 of the file, 64 hexadecimal digits; None if it can't be read
    width: int | None = None  # pixels, as displayed; None if it failed
    height: int | None = None
    n_features: int | None = None
    bytes: int | None = None  # size of the file; None if it can't be read
    modified: int | None = None  # time of the file, nanoseconds
    entries: Array | None = None  # (n,) ENTRY, the descriptors as an index stores them; None for a collection
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


def make_pair_record(number: int, result: Result) -> PairRecord:
    """Keep the objects of a result, and the matches in them."""
    kept = np.flatnonzero(result.cluster >= 0)
    columns = result.cluster, result.xy0, result.xy1, result.score
    matches = np.column_stack([kept, *(column[kept] for column in columns)])
    return PairRecord(number, len(result.cluster), result.objects, matches, result.timings)


def to_json(value: object) -> str:
    """Write arrays, records, and what holds them."""
    return json.dumps(
        value, default=lambda held: held.tolist() if isinstance(held, np.ndarray) else vars(held)
    )


def object_to_json(found: MatchedObject) -> str:
    """Write an object without its points, which are kept as matches."""
    values = {name: value for name, value in vars(found).items() if name not in ("points0", "points1")}
    return to_json(values | {"compared": found.compared.read()})


def object_from_json(text: str) -> MatchedObject:
    """Restore an object that `object_to_json` wrote."""
    values = json.loads(text, object_hook=_restore)
    return MatchedObject(**values | {"compared": Later.known(values["compared"])})


def _restore(values: dict[str, Any]) -> Any:
    """Restore a record by the names of its fields; lists of numbers or of lists are arrays."""
    for name, value in values.items():
        if isinstance(value, list):
            is_tuple = not value or isinstance(value[0], str | Difference)
            values[name] = tuple(value) if is_tuple else np.array(value)
    return RECORDS.get(frozenset(values), dict)(**values)
