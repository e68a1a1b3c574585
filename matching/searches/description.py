"""The description of objects, from their matches."""

from collections.abc import Sequence

import numpy as np

from matching._common.threads import map_in_threads
from matching._common.types import Floats, Ints
from matching.grouping.groups import Group
from matching.objects.description import MatchedObject, describe_object
from matching.searches.proposals import LabelledMatches, Proposal


def describe_objects(
    xy0: Floats,
    xy1: Floats,
    labels: Ints,
    objects: Sequence[Group | Proposal],
    tolerances: Floats,
    boxes: tuple[Floats, Floats],
    trust: Floats | None = None,
) -> list[MatchedObject]:
    """Describe each object, whose matches have its number in labels (m,).

    xy0, xy1 (m, 2); tolerances (n_objects,) in pixels of image 1; boxes (2, 2) of the pictures; trust (m,):
    the weights of the matches in the transforms.
    """

    def describe(k: int) -> MatchedObject:
        rows, found = labels == k, objects[k]
        tolerance = float(tolerances[k])
        weights = 1.0 if trust is None else trust[rows]
        places = xy0[rows], xy1[rows]
        return describe_object(k, *places, found.score, tolerance, *boxes, found.log_nfa, weights)

    return map_in_threads(describe, range(len(objects)))


def describe_proposals(
    matches: LabelledMatches, proposals: Sequence[Proposal], scale: float, boxes: tuple[Floats, Floats]
) -> list[MatchedObject]:
    """Describe each object; scale: the tolerance, in pixels of the size at which an object was found."""
    tolerances = scale * np.array([found.steps[1] for found in proposals])
    return describe_objects(matches.xy0, matches.xy1, matches.labels, proposals, tolerances, boxes)
