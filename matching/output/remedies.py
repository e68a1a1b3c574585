"""What to try about matches in no object: one table for both commands and the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matching.drivers.result import Result

DOORS = "match", "group", "page"
FURTHER = {"match": "--max-matches 6000", "page": "6000 in “Maximum candidates”"}
LARGER = "a larger picture"
OF_FEW = "graph", "degree", "size", "smooth map", "line", "planes"  # steps that more matches may pass
USUAL = "usual if the pictures have nothing in common"
# by the step that dropped the matches, for each of DOORS; more about OF_FEW depends on the result
HINTS = {
    "evidence": (USUAL, "", USUAL),
    "agreement": ("", "check that the points are x and y in pixels of these pictures", ""),
    "significance": ("", "to keep it anyway, raise --max-nfa, whose log10 is the bound", ""),
    "scatter": ("", "give the pictures, which can confirm it", ""),
    **dict.fromkeys(OF_FEW, ("", "give more matches", "")),
}


def list_hints(result: Result, door: str) -> dict[str, str]:
    """List what to try about a result, by the step that dropped the matches; door: one of DOORS.

    More candidates are advised only if all that are allowed were used, a larger picture only if no picture
    was reduced, and another number of false alarms only if there is a group to keep.
    """
    hints = {step: row[DOORS.index(door)] for step, row in HINTS.items()}
    if not result.rejected:
        del hints["significance"]
    config = result.config
    if config is not None and result.matched_at is not None:
        is_full = len(result.cluster) >= config.candidates.max_matches
        is_small = max(result.matched_at) * 1e6 < config.first_pixels
        more = ", or ".join([FURTHER[door]] * is_full + [LARGER] * is_small)
        hints |= dict.fromkeys(OF_FEW, more and f"try {more}")
    return hints
