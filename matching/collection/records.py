"""What is found out about one picture and about one pair: what a worker sends and the database keeps."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from matching.objects.description import MatchedObject
from matching.output.provenance import Origin


@dataclass(frozen=True, eq=False)
class ImageRecord:
    """A picture, described or failed.

    id : its number in the database
    content : SHA-256 of the file, 64 hexadecimal digits, None if it can't be read
    width, height : pixels as displayed, None where failed
    n_features : None where failed
    error : why it failed, None where it did not
    origin : Origin of the process that worked on it
    """

    id: int
    content: str | None
    width: int | None = None
    height: int | None = None
    n_features: int | None = None
    error: str | None = None
    origin: Origin | None = None


@dataclass(frozen=True, eq=False)
class PairRecord:
    """A pair, matched or failed.

    id : its number in the database
    contents : SHA-256 of the two files that were matched
    n_candidates : candidate correspondences
    objects : one MatchedObject for each object
    candidate : (n,) int64, the kept ones among the candidates, rising
    cluster : (n,) int64, the object of each
    xy0, xy1 : (n, 2) float64
    score : (n,) float64 descriptor distance
    timings : seconds of each stage
    error : why it failed, None where it did not
    origin : Origin of the process that worked on it
    """

    id: int
    contents: tuple[str, str]
    n_candidates: int = 0
    objects: tuple[MatchedObject, ...] = ()
    candidate: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    cluster: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    xy0: np.ndarray = field(default_factory=lambda: np.empty((0, 2)))
    xy1: np.ndarray = field(default_factory=lambda: np.empty((0, 2)))
    score: np.ndarray = field(default_factory=lambda: np.empty(0))
    timings: dict[str, float] = field(default_factory=dict)
    error: str | None = None
    origin: Origin | None = None


def pair_record(number, contents, result):
    """The PairRecord of a MatchResult: its objects and the matches that were kept."""
    kept = np.flatnonzero(result.cluster >= 0)
    return PairRecord(
        number,
        contents,
        len(result.cluster),
        result.objects,
        kept,
        result.cluster[kept],
        result.xy0[kept],
        result.xy1[kept],
        result.score[kept],
        result.timings,
    )
