"""Matches between two images, in the form that all readers return.

Coordinates are pixels, x to the right, y down, (0, 0) the centre of the top-left pixel, as everywhere in this
package. A frame is the (2, 2) linear part of the affine map from the coordinates of a region to the image.
Only frame1 @ inv(frame0) matters, so regions may have any unit that is the same in both images.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from matching._common.types import Array
from matching.errors import InputError
from matching.objects.transforms import apply_transform
from matching.pictures.decoding import map_displayed_to_stored

if TYPE_CHECKING:
    from matching.api import MatchResult
    from matching.grouping.config import MatchConfig
    from matching.pictures.images import Picture

Sizes = tuple[tuple[int, int], tuple[int, int]]


@dataclass(frozen=True, eq=False)
class KeypointSet:
    """The keypoints of one image."""

    xy: Array  # (n, 2) float64, pixels
    frames: Array | None = None  # (n, 2, 2) float64, None if scale or orientation is unknown
    size: tuple[int, int] | None = None  # height and width of the image


@dataclass(frozen=True, eq=False)
class PairMatches:
    """The matches between two images, as aligned arrays. A keypoint may be in several matches.

    Parameters
    ----------
    xy0, xy1 : (n, 2) float64
        Points of image 0 and image 1.
    frames0, frames1 : (n, 2, 2) float64, optional
        The frames of these keypoints.
    score : (n,) float64, optional
        The score of each match, smaller is better: a descriptor distance, or 1 - confidence.
    scores_are : "distances", "similarities" or None
        What the source says that its scores are: "distances" if smaller is better. None if it does not say;
        then they are taken as distances, see `with_scores`.
    sizes : pair of tuples of int, optional
        ((height0, width0), (height1, width1)).
    names : pair of str, optional
        The names of the images in the file.
    indices : (n, 2) int64, optional
        The rows of the keypoints in the lists of both images; if None, match i is row i of the file.
    as_stored : bool
        Whether pixels are those of the image files as stored; otherwise, they are those as displayed, with
        the EXIF orientation applied.
    """

    xy0: Array
    xy1: Array
    frames0: Array | None = None
    frames1: Array | None = None
    score: Array | None = None
    sizes: Sizes | None = None
    names: tuple[str, str] | None = None
    indices: Array | None = None
    as_stored: bool = False
    scores_are: str | None = None

    def __len__(self) -> int:
        return len(self.xy0)

    def __repr__(self) -> str:
        return f"<PairMatches: {len(self)} match{'' if len(self) == 1 else 'es'}>"

    def swapped(self) -> PairMatches:
        """The same matches with the images in the other order.

        Returns
        -------
        PairMatches
            The matches from image 1 to image 0.
        """
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

    def with_scores(self, scores_are: str) -> PairMatches:
        """The same matches, with scores that the source does not name taken as distances or similarities.

        Parameters
        ----------
        scores_are : "distances" or "similarities"
            Whether smaller or larger scores are better.

        Returns
        -------
        PairMatches
            With `score` as distances, 1 - similarity.

        Raises
        ------
        InputError
            A ValueError: the source says something else, or there are no scores.
        """
        if self.score is None:
            raise InputError(f"the matches have no scores that could be {scores_are}")
        if self.scores_are not in (None, scores_are):
            raise InputError(f"the scores are named {self.scores_are}, not {scores_are}")
        if scores_are in (self.scores_are, "distances"):
            return self
        return replace(self, score=1 - self.score, scores_are=scores_are)

    def group(
        self,
        config: MatchConfig | None = None,
        *,
        planes: bool = False,
        image0: Any = None,
        image1: Any = None,
    ) -> MatchResult:
        """Group these matches into objects with `matching.group_matches`.

        Parameters
        ----------
        config : MatchConfig, optional
            Settings of the grouping.
        planes : bool
            Whether to split each object into the planes that it consists of.
        image0, image1 : path, bytes, binary file, Pillow image, or array, optional
            The pictures, as `matching.match` takes them; give both or neither. What lies between the matches
            then decides whether an object is one, and whether it is the same.

        Returns
        -------
        MatchResult
            The objects and the object of each match, with pictures in their pixels as displayed.

        Raises
        ------
        InputError
            A ValueError: see `matching.group_matches`, or the matches are of a picture of another size.
        """
        from matching.api import group_matches
        from matching.drivers.given import read_pictures
        from matching.grouping.config import MatchConfig

        pictures = read_pictures((image0, image1))
        pair = self if pictures is None else turn_to_displayed(self, pictures)
        optional: Any = {name: getattr(pair, name) for name in ("frames0", "frames1", "sizes", "score")}
        if pictures is not None:
            optional |= {"image0": pictures[0], "image1": pictures[1]}
        return group_matches(pair.xy0, pair.xy1, planes=planes, config=config or MatchConfig(), **optional)


Grouped = tuple[PairMatches, Array]  # the matches of a pair, and the group (n,) of each, -1 for none


def turn_to_displayed(pair: PairMatches, pictures: Sequence[Picture]) -> PairMatches:
    """Turn matches to the pixels of two pictures to which their EXIF orientation has been applied."""
    changes: dict[str, Any] = {}
    are_inside = True
    for k, picture in enumerate(pictures):
        orientation = picture.orientation if pair.as_stored else 1
        turn = np.linalg.inv(map_displayed_to_stored(orientation, picture.width, picture.height))
        if pair.sizes is not None:
            height, width = pair.sizes[k][::-1] if turn[0, 0] == 0 else pair.sizes[k]
            if (height, width) != (picture.height, picture.width):
                raise InputError(
                    f"{picture.path or f'image{k}'}: is {picture.width} x {picture.height} pixels, but the"
                    f" matches are of an image of {width} x {height}"
                )
        xy, frames = getattr(pair, f"xy{k}"), getattr(pair, f"frames{k}")
        xy = changes[f"xy{k}"] = apply_transform(turn, xy) if len(xy) else xy
        changes[f"frames{k}"] = None if frames is None else turn[:2, :2] @ frames
        are_inside &= bool(((xy >= -1) & (xy <= [picture.width, picture.height])).all())
    if pair.sizes is not None or are_inside:  # otherwise, they may have been matched at another size
        changes["sizes"] = tuple((picture.height, picture.width) for picture in pictures)
    return replace(pair, **changes, as_stored=False)


def to_size(width: float, height: float) -> tuple[int, int] | None:
    """Return the height and width of an image, or None if they can't be a size: some programs write zeros."""
    sides = float(height), float(width)
    return (int(height), int(width)) if all(1 <= side < math.inf for side in sides) else None


def join_keypoints(
    keypoints: tuple[KeypointSet, KeypointSet], indices: Array, score: Array | None, source: str
) -> PairMatches:
    """Make the matches between keypoints of two images: indices (n, 2); score (n,) or None."""
    for k in range(2):
        n = len(keypoints[k].xy)
        wrong = (indices[:, k] < 0) | (indices[:, k] >= n)
        if wrong.any():
            value = indices[:, k][wrong][0]
            raise InputError(
                f"{source}: a match refers to keypoint {value} of image {k}, but that image has only"
                f" {n} keypoint{'' if n == 1 else 's'}"
            )
    set0, set1 = keypoints
    rows0, rows1 = indices.T
    frames: tuple[Array | None, Array | None] = (None, None)
    if set0.frames is not None and set1.frames is not None:
        frames = drop_useless_frames(set0.frames[rows0], set1.frames[rows1])
    return PairMatches(
        *(set0.xy[rows0], set1.xy[rows1], *frames),
        score=score,
        sizes=None if set0.size is None or set1.size is None else (set0.size, set1.size),
        indices=indices.astype(np.int64),
    )


def drop_useless_frames(frames0: Array, frames1: Array) -> tuple[Array | None, Array | None]:
    """Keep frames (n, 2, 2) of both images, unless any is singular or not finite, or all are equal."""
    frames = [np.asarray(f, np.float64) for f in (frames0, frames1)]
    sound = all(np.isfinite(f).all() and (np.abs(np.linalg.det(f)) > 0).all() for f in frames)
    is_useful = sound and any(len(f) == 0 or np.ptp(f, axis=0).max() > 0 for f in frames)
    return (frames[0], frames[1]) if is_useful else (None, None)


def frames_from_angles(scale: Array, radians: Array) -> Array:
    """Make frames (n, 2, 2) from scales (n,) and orientations (n,), which are measured from x to y."""
    cos, sin = np.cos(radians), np.sin(radians)
    turns = np.array([[cos, -sin], [sin, cos]]).transpose(2, 0, 1)
    return np.asarray(np.asarray(scale, np.float64)[:, None, None] * turns)
