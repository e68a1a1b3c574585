"""The ways of grouping that a setting names: the program's own, and the paper's."""

from __future__ import annotations

from dataclasses import dataclass

from matching.grouping.paper import PAPER
from matching.grouping.stages import DEFAULT, REPEATS
from matching.stages import Stages


@dataclass(frozen=True)
class Grouping:
    """A way of grouping.

    Parameters
    ----------
    stages : tuple of Stage
        For candidates of two pictures.
    of_one : tuple of Stage
        For candidates within one picture.
    is_tested : bool
        Whether objects need a number of matches, and are tested for significance and textures. Views and
        details are looked at only with such a way, as only it tells whether a pair is solved.
    needs_n_clusters : bool
        Whether merging ends only at a number of clusters.
    """

    stages: Stages
    of_one: Stages
    is_tested: bool = True
    needs_n_clusters: bool = False


GROUPINGS = {
    "default": Grouping(DEFAULT, REPEATS),
    "paper": Grouping(PAPER, PAPER, is_tested=False, needs_n_clusters=True),
}
