"""Results for one picture and for one pair, which a worker sends, and the database keeps."""

from dataclasses import dataclass, field

import numpy as np

from matching._common.types import Array
from matching.core.result import MatchResult
from matching.objects.description import MatchedObject


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
    # (n,) int64, rows of the kept candidates, ascending
    candidate: Array = field(default_factory=lambda: np.empty(0, np.int64))
    cluster: Array = field(default_factory=lambda: np.empty(0, np.int64))  # (n,), the object of each
    xy0: Array = field(default_factory=lambda: np.empty((0, 2)))  # (n, 2), pixels
    xy1: Array = field(default_factory=lambda: np.empty((0, 2)))
    score: Array = field(default_factory=lambda: np.empty(0))  # (n,)
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


def make_pair_record(number: int, result: MatchResult) -> PairRecord:
    """Keep the objects of a result, and the matches in them."""
    kept = np.flatnonzero(result.cluster >= 0)
    matches = kept, result.cluster[kept], result.xy0[kept], result.xy1[kept], result.score[kept]
    return PairRecord(number, len(result.cluster), result.objects, *matches, result.timings)
