"""Whether pictures show the same as a golden one: the verdict on each, and a table of what differs."""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from matching._common.types import Floats
from matching.agreement.closeup import MIN_FILLED
from matching.drivers.result import Result
from matching.objects.comparison import Comparison
from matching.objects.copies import count_copies
from matching.objects.description import MatchedObject
from matching.objects.differences import Difference
from matching.output.csv_text import encode_csv
from matching.output.folders import TABLE_COLUMNS
from matching.output.words import NOTHING

# Of picture 0, that an inspected picture shows: a margin of 3 % along one side may be cut off.
MIN_VISIBLE = 0.96


@dataclass(frozen=True)
class Verdict:
    """What is said of a picture next to a golden one.

    Parameters
    ----------
    compared : Comparison
        What differs at all places that show the golden picture.
    objects : tuple of MatchedObject
        These places; none if there is no common object.
    only : pair of tuple of (k, 2) float64
        What is gone, in pixels of the golden picture, and what is new.
    """

    compared: Comparison
    objects: tuple[MatchedObject, ...]
    only: tuple[tuple[Floats, ...], tuple[Floats, ...]] = ((), ())

    @property
    def words(self) -> str:
        """The verdict in words: those of `Comparison`, and what is gone or new, or "no common object"."""
        words = [f"{len(only)} {word}" for only, word in zip(self.only, ("gone", "new"), strict=True) if only]
        return ", ".join([self.compared.words, *words]) if self.objects else NOTHING

    @property
    def kind(self) -> str:
        """The verdict in a word: "differs", "not shown", "can't tell" or "same"."""
        if not self.objects:
            return "not shown"
        return {False: "differs", None: "can't tell", True: "same"}[self.compared.is_same]

    @property
    def listed(self) -> list[tuple[MatchedObject, Difference]]:
        """What differs, with its object, the one with most evidence first."""
        pairs = [(found, one) for found in self.objects for one in found.differences]
        return sorted(pairs, key=lambda pair: -pair[1].evidence)


def inspect(result: Result) -> Verdict:
    """Judge whether picture 1 shows the same as all of picture 0.

    Where places show the whole of picture 0, the others, such as parts that it has twice, do not count. It is
    the same if no place differs, and one was compared as a whole.
    """
    counted = count_copies(result.objects)
    whole = {k for ids in (*counted.copies, *counted.alike) for k in ids}
    is_version = any(result.only)  # whose blocks are places of one page
    objects = tuple(found for found in result.objects if is_version or not whole or found.id in whole)
    covering = [found for found in objects if _is_all_compared(found)]
    is_same = bool(covering) and all(found.is_same for found in covering)
    differs = is_version or any(found.is_same is False for found in objects)
    compared = Comparison(
        False if differs else is_same or None,
        tuple(one for found in objects for one in found.differences),
        max((found.smallest_difference for found in covering), default=math.inf),
        tuple(dict.fromkeys(word for found in objects for word in found.appearance)),
    )
    return Verdict(compared, objects, result.only)


def _is_all_compared(found: MatchedObject) -> bool:
    """Whether the comparison of an object that is there covers all of picture 0."""
    shown = found.completeness is not None and found.is_whole and found.completeness.visible >= MIN_VISIBLE
    return shown and covers_most(found) and not found.is_doubtful


def covers_most(found: MatchedObject) -> bool:
    """Whether an object covers so much of picture 0 that all of it is compared."""
    share = None if found.motion is None else found.motion.share
    return share is not None and share > MIN_FILLED


def format_differences(verdicts: Iterable[tuple[str, Verdict]]) -> bytes:
    """Format what differs in pictures as CSV, with polygons as JSON, in pixels of the golden picture."""
    rows: list[Sequence[Any]] = [TABLE_COLUMNS]
    for picture, verdict in verdicts:
        for found, one in verdict.listed:
            polygon = json.dumps(np.round(one.polygon0, 2).tolist())
            rows.append((picture, found.id, polygon, round(one.size, 2), round(one.evidence, 1)))
    return encode_csv(rows, line_end="\r\n")
