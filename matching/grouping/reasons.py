"""Why matches are in no object: for each step that drops matches, a word and a clause.

What to try about a reason depends on who asks: see `matching.output.remedies`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reason:
    """Why a step drops matches."""

    word: str  # as it stands in `matches.json`
    text: str  # a clause that explains it
    # True if this alone explains why there is no object; no other advice is then given
    is_cause: bool = False


# Keyed by step, in the order of the steps. The last step that a match reached is the one that dropped it.
REASONS = {
    "candidates": Reason("too-few-candidates", "there are fewer matches than an object needs"),
    "stray": Reason("stray", "far away from all others"),
    "rounds": Reason("not-clustered", "clustering ended before its turn"),
    "reach": Reason("near-object", "it lies near an object in both pictures, but does not move with it"),
    "evidence": Reason("no-evidence", "too few mutual candidates agree, so nothing was clustered"),
    "graph": Reason("not-supported", "the neighbours move differently"),
    "degree": Reason("loose", "few of the neighbours are in the same cluster"),
    "size": Reason("too-small", "the cluster has fewer matches than an object needs"),
    "smooth map": Reason("not-smooth", "it follows no smooth map that enough matches share"),
    "line": Reason("on-a-line", "the matches lie so close to a line that they don't determine a map"),
    "suppression": Reason("contained", "its points belong to larger groups in both pictures", is_cause=True),
    "largest gap": Reason("low-score", "its score is below the largest gap between the scores of the groups"),
    "significance": Reason("by-chance", "a group this good occurs by chance"),
    "scatter": Reason("scattered", "its matches agree only roughly with those around them"),
    "solids": Reason("not-solid", "the solid thing around it moves differently"),
    "planes": Reason("no-plane", "too few of the matches lie on one plane"),
    "agreement": Reason(
        "no-agreement", "what lies between its matches does not agree in both pictures", is_cause=True
    ),
    "places": Reason("no-second-place", "it makes no two places that are apart, or larger things contain it"),
    "method": Reason("outlier-of-method", "the chosen method puts it into no cluster"),
    "details": Reason("seen-closer", "the same object has more matches in a later search"),
}
