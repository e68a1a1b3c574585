"""One search for objects: candidates of two lists of features, grouped."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from matching.correspondences.candidates import Candidates, join_candidates, match_with_reserve
from matching.correspondences.distinct import count_distinct_matches
from matching.features.extraction import Features, mirrored_features
from matching.grouping.config import MatchConfig
from matching.grouping.group import group
from matching.grouping.groups import Group
from matching.grouping.ledger import Ledger
from matching.grouping.methods import PAIR, Method
from matching.searches.proposals import Listing, locate
from matching.searches.source import DescribedPicture


@dataclass(frozen=True, eq=False)
class GroupedCandidates:
    """Candidates, and the groups among them."""

    candidates: Candidates  # the listed ones, then further ones that may join groups
    n_listed: int
    groups: list[Group]  # by descending score
    ledger: Ledger

    def locate(self, first: DescribedPicture, second: DescribedPicture) -> Listing:
        """Locate candidates and groups in the pictures whose features they join."""
        count = partial(count_distinct_matches, first.features, second.features)
        steps = first.step, second.step
        return locate(self.candidates, self.groups, self.ledger, steps, self.n_listed, count)


def find_pair_candidates(
    features0: Features, features1: Features, config: MatchConfig
) -> tuple[Candidates, Candidates]:
    """Match the features of two pictures -> the best candidates, and the next best."""
    parts = [match_with_reserve(features0, features1, config.candidates)]
    if config.mirrored:
        turned = mirrored_features(features1)
        parts.append(match_with_reserve(features0, turned, config.candidates))
    best, reserve = zip(*parts, strict=True)
    return join_candidates(best), join_candidates(reserve)


def group_candidates(
    candidates: Candidates, pool: Candidates, config: MatchConfig = MatchConfig(), method: Method = PAIR
) -> GroupedCandidates:
    """Group candidates into objects, which may take further matches from a pool."""
    both = join_candidates([candidates, pool[np.argsort(pool.score, kind="stable")]])
    ledger, n = Ledger(len(both)), len(candidates)
    return GroupedCandidates(both, n, group(both.correspondences, n, config, method, ledger), ledger)
