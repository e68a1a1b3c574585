"""Whether the matches of an object are confusable: a fine periodic texture looks the same a period further.

A match is confusable where another feature of the same object, beside it and no farther than a few descriptor
windows, has nearly as near a descriptor. Copies of a product on a shelf are farther apart than that; a mesh
or a weave holds the same in every cell.
"""

from __future__ import annotations

import math

import numpy as np

from matching._common.types import Floats
from matching.correspondences.candidates import Candidates
from matching.correspondences.points import is_amid
from matching.features.extraction import DESCRIPTOR_NORM, Features, mirrored_features

SAMPLE = 300  # matches of an object that are looked at
APART = 8.0  # pixels from which another feature is at another place
REACH = 20.0  # of the radii of two features together: about three windows of their descriptors
NEARLY = 1.1, 0.05  # a descriptor distance that is this many times another one, and so much more, is as near


def is_periodic(features0: Features, features1: Features, candidates: Candidates) -> bool:
    """Test whether the matches of an object are confusable in both images.

    Then it may be anywhere, and the images may have no more in common than a texture.

    Parameters
    ----------
    features0, features1 : Features
        Of the images.
    candidates : Candidates
        The object's matches.

    Returns
    -------
    bool
        Whether most of them are, by a standard deviation: of textures 0.54 and more, of all else up to 0.43.
    """
    own = candidates[:: math.ceil(len(candidates) / SAMPLE)]
    if np.median(np.linalg.det(own.maps)) < 0:
        features1 = mirrored_features(features1)
    least = (1 + 1 / math.sqrt(len(own))) / 2  # half and a standard deviation of that share
    there = _confusable_share(
        features0[own.row0], features1[own.row1], features1[candidates.row1], features1, own
    )
    if there < least:
        return False
    back = _confusable_share(
        features1[own.row1], features0[own.row0], features0[candidates.row0], features0, own
    )
    return bool(back >= least)


def _confusable_share(
    source: Features, matched: Features, place: Features, features: Features, candidates: Candidates
) -> float:
    """The share of matches source -> matched for which the features of the picture that lie amid the object's
    points, `place`, hold another one that is as near.
    """
    inside = features[is_amid(features.xy, place.xy)]
    product = source.descriptors @ inside.descriptors.T  # whole numbers: exact
    square = (source.descriptors**2).sum(axis=1)[:, None] + (inside.descriptors**2).sum(axis=1) - 2 * product
    distance = np.sqrt(np.maximum(square, 0)) / DESCRIPTOR_NORM
    factor, offset = NEARLY
    as_near = distance <= factor * candidates.score[:, None] + offset
    row, other = np.nonzero(as_near & (inside.kind == source.kind[:, None]))
    gap = np.linalg.norm(matched.xy[row] - inside.xy[other], axis=1)
    close = (gap > APART) & (gap < REACH * (_window(matched)[row] + _window(inside)[other]))
    return len(np.unique(row[close])) / len(candidates)


def _window(features: Features) -> Floats:
    """(n,) pixels: the radius of a region."""
    return np.asarray(np.sqrt(np.abs(np.linalg.det(features.frames))))
