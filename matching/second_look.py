"""A second look at what the objects leave over.

Strongly textured objects fill the list of the best candidates, and a small one beside them is left with a
handful. Once they are found, their matches give up their places to the next best candidates, and what is not
theirs is clustered again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from matching.errors import check_at_least
from matching.geometry import within_reach
from matching.joining import seam_cost
from matching.territory import drop_covered


@dataclass(frozen=True)
class SecondLookConfig:
    """How many candidates are looked at again, and what is an object's own: candidates that have matches of
    it near them in both images.

    Next to an object lie clusters of near misses, shifted by a period of its texture or off its bends.
    """

    share: float = 1.0  # of the number of candidates of the first look
    reach: float = 25.0  # pixels

    def __post_init__(self):
        check_at_least(self, share=0, reach=0)


def left_over(candidates, objects, is_reserve, config=SecondLookConfig()):
    """(q,) rising rows: of the best candidates that are in no object, those of the reserve last, all that are
    not an object's own.

    objects : arrays of rows; is_reserve (m,) bool
    """
    most = int(config.share * np.count_nonzero(~is_reserve))
    rows = np.setdiff1d(np.arange(len(candidates)), np.concatenate(objects))
    rows = np.sort(rows[np.lexsort((candidates.score[rows], is_reserve[rows]))][:most])
    own = np.zeros(len(rows), bool)
    for members in objects:
        near = np.flatnonzero(~own & (candidates.cell[rows] == candidates.cell[members[0]]))
        for xy in (candidates.xy0, candidates.xy1):
            near = near[within_reach(xy[rows[near]], xy[members], config.reach)]
        own[near] = True
    return rows[~own]


def objects_of_their_own(candidates, objects, parts, config):
    """(p,) bool: which of the parts, the strongest first, neither continue an object nor stand on top of one.

    config : PartsConfig. What continues an object has been passed over as its smooth map doesn't explain it.
    """
    known, new = list(objects), np.zeros(len(parts), bool)
    for k, part in enumerate(parts):
        beside = [other for other in known if candidates.cell[other[0]] == candidates.cell[part[0]]]
        if all(seam_cost(candidates, part, other, config) >= 1 for other in beside):
            stay = drop_covered(candidates.xy0, candidates.xy1, [*known, part], config.covered_share)
            new[k] = stay[-1] is part
        if new[k]:
            known.append(part)
    return new
