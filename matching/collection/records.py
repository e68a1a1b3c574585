"""What is found out about one picture and about one pair: what a worker sends and the database keeps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from matching._common.types import Array
from matching.errors import InputError
from matching.objects.description import MatchedObject
from matching.output.provenance import Origin, differences, programs

if TYPE_CHECKING:
    from matching.matches import Matches


@dataclass(frozen=True, eq=False)
class ImageRecord:
    """A picture, described or failed.

    Parameters
    ----------
    id : int
        Its number in the database.
    content : str or None
        SHA-256 of the file, 64 hexadecimal digits; None if it can't be read.
    width, height : int, optional
        Pixels as displayed; None where failed.
    n_features : int, optional
        Number of features; None where failed.
    error : str, optional
        Why it failed; None where it did not.
    origin : Origin, optional
        The programs and the machine that worked on it.
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

    Parameters
    ----------
    id : int
        Its number in the database.
    contents : pair of str
        SHA-256 of the two files that were matched.
    n_candidates : int
        Number of candidate correspondences.
    objects : tuple of MatchedObject
        The objects.
    candidate : (n,) int64
        The kept ones among the candidates, rising.
    cluster : (n,) int64
        The object of each.
    xy0, xy1 : (n, 2) float64
        Their points in either picture, pixels.
    score : (n,) float64
        Distance of the descriptors.
    timings : dict of str to float
        Seconds of each stage.
    error : str, optional
        Why it failed; None where it did not.
    origin : Origin, optional
        The programs and the machine that worked on it.
    """

    id: int
    contents: tuple[str | None, str | None]
    n_candidates: int = 0
    objects: tuple[MatchedObject, ...] = ()
    candidate: Array = field(default_factory=lambda: np.empty(0, np.int64))
    cluster: Array = field(default_factory=lambda: np.empty(0, np.int64))
    xy0: Array = field(default_factory=lambda: np.empty((0, 2)))
    xy1: Array = field(default_factory=lambda: np.empty((0, 2)))
    score: Array = field(default_factory=lambda: np.empty(0))
    timings: dict[str, float] = field(default_factory=dict)
    error: str | None = None
    origin: Origin | None = None


@dataclass(frozen=True, eq=False)
class IndexedRecord:
    """A picture of a kept index, described or failed.

    Parameters
    ----------
    id : int
        Its number in the index.
    content : str, optional
        SHA-256 of the file; None if it can't be read.
    bytes, modified : int, optional
        Size and time of the file; None if it can't be read.
    entries : (n,) ENTRY, optional
        What is kept of its descriptors; None where failed.
    error : str, optional
        Why it failed; None where it did not.
    origin : Origin, optional
        The programs and the machine that worked on it.
    """

    id: int
    content: str | None = None
    bytes: int | None = None
    modified: int | None = None
    entries: Array | None = None
    error: str | None = None
    origin: Origin | None = None


def make_pair_record(number: int, contents: tuple[str | None, str | None], result: Matches) -> PairRecord:
    """Keep the objects of a result and the matches in them."""
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


def check_origin(record: Any) -> None:
    """Check that a record comes from a process with the same programs: else its result may be another."""
    made_with = {} if record.origin is None else record.origin.programs
    if made_with != programs():
        told = differences(made_with, programs())
        raise InputError(
            f"a worker runs other versions than this process: {told}; its results were discarded. Once all"
            " have the same, the same command goes on"
        )
