"""One search for objects: candidates of two lists of features, grouped, without textures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from matching._common.types import Floats
from matching.core.config import MatchConfig
from matching.core.group import group
from matching.core.groups import Group
from matching.core.ledger import Ledger
from matching.core.methods import PAIR, Method
from matching.core.pixel_matches import PixelMatches, locate
from matching.core.textures import Confirm, drop_textures
from matching.correspondences.candidates import Candidates, join_candidates, match_with_reserve
from matching.features.extraction import Features, mirrored_features


@dataclass(frozen=True, eq=False)
class Search:
    """Candidates, and the objects among them."""

    candidates: Candidates  # the listed ones, then further ones that may join objects
    n_listed: int
    objects: list[Group]  # by descending score
    ledger: Ledger

    def locate(self, step0: Floats, step1: Floats) -> PixelMatches:
        """Locate matches in the pictures, as many as are listed; step0, step1 (2,): pixels per pixel here."""
        return locate(self.candidates, self.objects, self.ledger, step0, step1, self.n_listed)


def find_pair_candidates(
    features0: Features, features1: Features, config: MatchConfig = MatchConfig()
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
) -> Search:
    """Group candidates into objects, which may take further matches from a pool."""
    both = join_candidates([candidates, pool[np.argsort(pool.score, kind="stable")]])
    ledger = Ledger(len(both))
    return Search(
        both, len(candidates), group(both.correspondences, len(candidates), config, method, ledger), ledger
    )


def find_objects(
    features0: Features,
    features1: Features,
    candidates: tuple[Candidates, Candidates],
    config: MatchConfig = MatchConfig(),
    method: Method = PAIR,
    confirm: Confirm | None = None,
) -> Search:
    """Group candidates and their pool into objects, and drop those that are fine periodic textures.

    confirm: whether a group that may be a texture is an object, by default none.
    """
    found = group_candidates(*candidates, config, method)
    if not method.is_tested:
        return found
    objects = drop_textures(features0, features1, found.candidates, found.objects, found.ledger, confirm)
    return Search(found.candidates, found.n_listed, objects, found.ledger)
