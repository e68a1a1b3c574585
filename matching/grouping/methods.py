"""The steps that differ between kinds of matches, and where a rival can replace them.

`matching.grouping.group` reads these; a variant is `replace(PAIR, cluster=...)`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from matching._common.types import Bools, Floats
from matching.correspondences.correspondences import Correspondences
from matching.grouping.clusters import Clustering, ClusteringConfig, find_above_largest_gap, link
from matching.grouping.config import MatchConfig
from matching.grouping.graph import MatchGraph
from matching.grouping.groups import Group
from matching.grouping.ledger import Ledger
from matching.grouping.merging import MergeParts, merge_parts
from matching.grouping.paper import group_by_paper
from matching.grouping.suppression import Suppress, suppress_contained

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
    # Whether points alone decide: significance, and the map of a narrow object. Where the pictures are known,
    # what lies between the matches decides.
    tests_points: bool = False
    # Replaces all steps; its groups are not tested further. For the paper's text, and for rivals.
    group: GroupMatches | None = None
    # Whether any two pictures may both be matched at their full size, which takes ten times as long. Of very
    # many pairs, only two small pictures are, and only if a group was nearly an object.
    is_thorough: bool = True


PAIR = Method(tests_evidence=True)
MANY = replace(PAIR, is_thorough=False)  # one of very many pairs, most of which share nothing
VIEWS = Method()
GIVEN = Method()  # with the pictures
GIVEN_ALONE = Method(tests_points=True)
REPEATS = Method(suppress=partial(suppress_contained, by_one=True))
PAPER = Method(group=group_by_paper)


def choose_method(config: MatchConfig, method: Method) -> Method:
    """Return the method, or that of the paper if the settings choose it."""
    return PAPER if config.is_paper else method
