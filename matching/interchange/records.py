"""Matches between two images, as every reader gives them.

Coordinates are pixels, x to the right, y down, (0, 0) the centre of the top-left pixel, as everywhere in
this package. A frame is the (2, 2) linear part of the affine map from a region's own coordinates to its
image: only frame1 @ inv(frame0) matters, so its unit is free as long as both images have the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from matching.errors import InputError

if TYPE_CHECKING:
    from matching.config import MatchConfig
    from matching.result import MatchResult

Sizes = tuple[tuple[int, int], tuple[int, int]]


@dataclass(frozen=True, eq=False)
class KeypointSet:
    """The keypoints of one image.

    Attributes
    ----------
    xy : (n, 2) float64
    frames : (n, 2, 2) float64 or None
        None where scale or orientation is not known.
    size : (height, width) of the image, or None
    """

    xy: np.ndarray
    frames: np.ndarray | None = None
    size: tuple[int, int] | None = None


@dataclass(frozen=True, eq=False)
class PairMatches:
    """The matches between two images, aligned arrays. A keypoint may stand in several of them.

    Attributes
    ----------
    xy0, xy1 : (n, 2) float64
        Points of image 0 and image 1.
    frames0, frames1 : (n, 2, 2) float64 or None
        The frames of these keypoints.
    score : (n,) float64 or None
        Smaller is better: a descriptor distance, or 1 - confidence.
    sizes : ((height0, width0), (height1, width1)) or None
    names : (str, str) or None
        The names of the images in the file.
    indices : (n, 2) int64 or None
        The rows of the keypoints in the lists of both images; with None, match i is row i of the file.
    as_stored : bool
        Whether pixels are those of the image file as stored; otherwise those of the image as displayed, with
        its EXIF orientation applied.
    """

    xy0: np.ndarray
    xy1: np.ndarray
    frames0: np.ndarray | None = None
    frames1: np.ndarray | None = None
    score: np.ndarray | None = None
    sizes: Sizes | None = None
    names: tuple[str, str] | None = None
    indices: np.ndarray | None = None
    as_stored: bool = False

    def __len__(self) -> int:
        return len(self.xy0)

    def swapped(self) -> PairMatches:
        """The same matches with the images in the other order."""
        return replace(
            self,
            xy0=self.xy1,
            xy1=self.xy0,
            frames0=self.frames1,
            frames1=self.frames0,
            sizes=self.sizes and self.sizes[::-1],
            names=self.names and self.names[::-1],
            indices=None if self.indices is None else self.indices[:, ::-1],
        )

    def group(self, config: MatchConfig | None = None) -> MatchResult:
        """The objects that these matches show: `matching.group_matches` of them."""
        from matching.config import MatchConfig
        from matching.given import group_matches

        return group_matches(
            self.xy0,
            self.xy1,
            frames0=self.frames0,
            frames1=self.frames1,
            sizes=self.sizes,
            score=self.score,
            config=MatchConfig() if config is None else config,
        )


def known_size(width: float, height: float) -> tuple[int, int] | None:
    """(height, width) of an image, or None where the numbers can't be a size: some programs write zeros."""
    return (int(height), int(width)) if width >= 1 and height >= 1 else None


def join_keypoints(
    keypoints: tuple[KeypointSet, KeypointSet], indices: np.ndarray, score: np.ndarray | None, source: str
) -> PairMatches:
    """The matches between keypoints of two images.

    Parameters
    ----------
    keypoints : of image 0 and image 1
    indices : (n, 2) integers, rows of the keypoints
    score : (n,), smaller is better, or None
    source : what the indices come from, for messages

    Raises
    ------
    InputError
        An index has no keypoint.
    """
    for k in range(2):
        n = len(keypoints[k].xy)
        wrong = (indices[:, k] < 0) | (indices[:, k] >= n)
        if wrong.any():
            value = indices[:, k][wrong][0]
            raise InputError(f"{source}: a match names keypoint {value} of image {k}, which has {n}")
    frames = [None, None]
    if all(set_.frames is not None for set_ in keypoints):
        frames = useful_frames(*(set_.frames[indices[:, k]] for k, set_ in enumerate(keypoints)))
    sizes = tuple(set_.size for set_ in keypoints)
    return PairMatches(
        *(set_.xy[indices[:, k]] for k, set_ in enumerate(keypoints)),
        *frames,
        score=score,
        sizes=None if None in sizes else sizes,
        indices=indices.astype(np.int64),
    )


def useful_frames(frames0: np.ndarray, frames1: np.ndarray) -> tuple[np.ndarray | None, np.ndarray | None]:
    """The frames (n, 2, 2) of both images, or None for both where they say nothing: some are singular or not
    finite, or all are equal, as programs write them that know only places.
    """
    frames = [np.asarray(f, np.float64) for f in (frames0, frames1)]
    sound = all(np.isfinite(f).all() and (np.abs(np.linalg.det(f)) > 0).all() for f in frames)
    told = sound and any(len(f) == 0 or np.ptp(f, axis=0).max() > 0 for f in frames)
    return tuple(frames) if told else (None, None)


def frames_from_angles(scale: np.ndarray, radians: np.ndarray) -> np.ndarray:
    """Frames (n, 2, 2) of keypoints with scale and orientation, which turns from x to y (clockwise as seen).

    >>> frames_from_angles(np.array([2.0]), np.array([np.pi / 2])).round(12) + 0
    array([[[ 0., -2.],
            [ 2.,  0.]]])
    """
    cos, sin = np.cos(radians), np.sin(radians)
    return np.asarray(scale, np.float64)[:, None, None] * np.array([[cos, -sin], [sin, cos]]).transpose(
        2, 0, 1
    )


def score_from_confidence(confidence: np.ndarray) -> np.ndarray:
    """Scores, of which the smaller is better, from confidences, of which the larger is."""
    return 1 - np.asarray(confidence, np.float64)
