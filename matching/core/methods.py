"""The steps that differ between kinds of matches, and where a rival can replace them.

`matching.core.group` reads these; a variant is `replace(PAIR, cluster=...)`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from matching._common.types import Bools, Floats, Ints
from matching.core.clusters import Clustering, ClusteringConfig, find_above_largest_gap, link
from matching.core.config import MatchConfig
from matching.core.graph import MatchGraph
from matching.core.groups import MAX_MAP_ERROR, MAX_UNCONFIRMED_MAP_ERROR, Group
from matching.core.ledger import Ledger
from matching.core.merging import MergeParts, merge_parts
from matching.core.paper import group_by_paper
from matching.core.significance import (
    measure_by_maps,
    measure_by_places,
    measure_from_the_side,
    measure_within_picture,
)
from matching.core.suppression import Suppress, suppress_contained, suppress_contained_in_one
from matching.correspondences.correspondences import Correspondences

Cluster = Callable[[Correspondences, MatchGraph, ClusteringConfig], Clustering]
GroupMatches = Callable[[Correspondences, MatchConfig, Ledger], list[Group]]


@dataclass(frozen=True)
class Method:
    """The steps of grouping that some kinds of matches do differently.

    The default of each is what most kinds do.
    """

    tests_evidence: bool = False  # only the candidates of two pictures: the test is tuned to them
    cluster: Cluster = link
    suppress: Suppress = suppress_contained
    merge: MergeParts = merge_parts
    find_above_gap: Callable[[Floats], Bools] = find_above_largest_gap
    measure_significance: Callable[[Correspondences, list[Ints], float], list[float]] = measure_by_maps
    # Pixels, of a narrow object; more only where what lies between the matches of each object is looked at.
    max_map_error: float = MAX_MAP_ERROR
    # Replaces all steps; its groups are not tested further. For the paper's text, and for rivals.
    group: GroupMatches | None = None
    # Whether any two pictures may both be matched at their full size, which takes ten times as long. Of very
    # many pairs, only two small pictures are, and only if a group was nearly an object.
    is_thorough: bool = True

    @property
    def is_tested(self) -> bool:
        """Whether objects are tested for significance and textures, as all further searches need."""
        return self.group is None


PAIR = Method(tests_evidence=True, max_map_error=MAX_UNCONFIRMED_MAP_ERROR)
MANY = replace(PAIR, is_thorough=False)  # one of very many pairs, most of which share nothing
VIEWS = Method(measure_significance=measure_from_the_side)
GIVEN = Method(measure_significance=measure_by_places)
REPEATS = Method(suppress=suppress_contained_in_one, measure_significance=measure_within_picture)
PAPER = Method(group=group_by_paper)


def choose_method(config: MatchConfig, method: Method) -> Method:
    """Return the method, or that of the paper if the settings choose it."""
    return PAPER if config.is_paper else method
