"""The groupings that the setting `grouping` chooses: this program's and the paper's."""

from __future__ import annotations

from dataclasses import dataclass

from matching.grouping.paper import PAPER
from matching.grouping.stages import DEFAULT, REPEATS
from matching.stages import Stages


@dataclass(frozen=True)
class Grouping:
    """A way of grouping."""

    stages: Stages  # for candidates of two pictures
    of_one: Stages  # for candidates within one picture
    # whether objects are tested for size, significance and textures, as views and details need
    is_tested: bool = True
    needs_n_clusters: bool = False  # whether merging needs a number of clusters to stop at


GROUPINGS = {
    "default": Grouping(DEFAULT, REPEATS),
    "paper": Grouping(PAPER, PAPER, is_tested=False, needs_n_clusters=True),
}
