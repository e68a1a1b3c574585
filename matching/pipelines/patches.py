"""Small patches that a small picture shows twice, as where something in a photograph was hidden or copied.

A patch of 40 pixels has too few features at the picture's own size. So the picture is enlarged, and all its
key points count, even faint ones. Most of these belong to textures, so few neighbours of each are considered,
and a patch must be an exact copy: its matches must agree with one map to within a fraction of a pixel.
"""

from __future__ import annotations

import numpy as np

from matching._common.types import Bools, Floats, Ints
from matching.config import MatchConfig
from matching.grouping.objects import FEW_MATCHES
from matching.grouping.repeats import Repeats, is_mostly_amid
from matching.objects.description import MatchedObject
from matching.pictures.images import Picture
from matching.pipelines.description import DescribedPicture, describe_details, is_small
from matching.pipelines.details import MIN_DETAIL_SIZE, Located, join_objects
from matching.settings import LARGEST

# Of four photographs with a copied patch of 40 px that is not found at their own size, three are solved; with
# the usual number of faint key points, or with the ten nearest features of each, one is; with both, none.
# Fewer neighbours than usual double the score of a patch of ten matches.
SEARCH = {
    "sift_fill": LARGEST,
    "per_feature": 2,
    "max_matches": 1000,
    "reserve": 0.0,
    "n_neighbors": 15,
    "min_degree": 0.25,
    "min_matches": FEW_MATCHES,
}
# Pixels, half of the deviation of usual points: the errors of patches were 0.1 to 0.2, those of similar
# things 0.5 or more.
EXACT = 0.3


def adapt_settings(config: MatchConfig) -> MatchConfig:
    """Adapt settings to patches."""
    return config.with_settings(**SEARCH)


def describe_patches(
    picture: Picture, described: DescribedPicture, config: MatchConfig, n_threads: int = 1
) -> DescribedPicture | None:
    """Describe a picture for the search for patches; None if it is too large for that."""
    if not is_small(described, config) or not config.way.is_tested:
        return None
    return describe_details(picture, described, adapt_settings(config), n_threads)


def find_exact(repeats: Repeats, objects: list[MatchedObject], known: Floats, step: float) -> list[int]:
    """List the exact copies that are large enough and not known yet.

    They are known if both ends lie amid known points (k, 2). step: the size of a fine pixel.
    """
    return [
        k
        for k, one in enumerate(objects)
        if not repeats.periodic[k]
        and one.transform_error <= EXACT
        and np.ptp(one.points0, axis=0).max() >= MIN_DETAIL_SIZE * step
        and not (len(known) and all(is_mostly_amid(xy, known) for xy in (one.points0, one.points1)))
    ]


def add_patches(
    known: Located, periodic: Bools, joins: Ints, found: Located, kept: list[int], most: int
) -> tuple[Located, Bools, Ints]:
    """Add patches to objects -> all objects, whether they are periodic (n,), the places they join (n, 2)."""
    objects = [(known, k) for k in range(len(known.scores))] + [(found, k) for k in kept]
    order = np.argsort([-part.scores[k] for part, k in objects], kind="stable")
    periodic = np.append(periodic, np.zeros(len(kept), bool))[order]
    joins = np.vstack([joins, np.full((len(kept), 2), -1)])[order]
    return join_objects(known, objects, most), periodic, joins
