"""What an object is in the result: its outline in both images and the transform between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.spatial import Delaunay, QhullError

from matching import _opencv
from matching.objects.confidence import confidence
from matching.objects.frames import Motion, fit_frame, motion_of
from matching.objects.things import Thing

OUTLINE_CANVAS = 400  # pixels along the longer side of an object when its outline is traced
NOTCH, SPUR = 1 / 40, 1 / 100  # of that: half the width of notches to fill, of spurs to cut off
SIDES = (0.2, 0.3, 0.45, np.inf)  # longest sides of triangles inside an outline, in sizes of the object
COVERED = 0.95  # least share of the matches inside an outline


def _no_points() -> np.ndarray:
    return np.empty((0, 2))


@dataclass(frozen=True, eq=False, repr=False)
class MatchedObject:
    """One object that both pictures show.

    id : its number in `cluster`
    n_matches : correspondences
    score : in [0, 1]: of the 35 candidates nearest to a match, how many agree with it, on average
    outline0, outline1 : (k, 2) float64 polygons around the matches in image 0 and 1, pixels
    transform : (3, 3) float64, takes homogeneous pixels of image 0 to image 1 over the object
    transform_kind : "homography", or "affine" where a homography is no better
    transform_error : median distance in pixels of image 1 between transformed and matched points
    frame1 : (4, 2) float64, the corners of picture 0, or of the box around what its mask shows, as they lie
        in picture 1: top-left first, then clockwise in picture 0; None where it is not known
    motion : how it lies in picture 1, compared with picture 0; None where it is not known
    thing : equal for objects that are copies of one thing: they share their place in picture 0
    points0, points1 : (n_matches, 2) float64, its matches in image 0 and 1, pixels; empty where not known
    """

    id: int
    n_matches: int
    score: float
    outline0: np.ndarray
    outline1: np.ndarray
    transform: np.ndarray
    transform_kind: str
    transform_error: float
    frame1: np.ndarray | None = None
    motion: Motion | None = None
    thing: int = 0
    points0: np.ndarray = field(default_factory=_no_points)
    points1: np.ndarray = field(default_factory=_no_points)

    @property
    def confidence(self) -> str:
        """How sure it is: "sure", "likely" or "look at it", see `matching.objects.confidence`."""
        return confidence(self.score, self.n_matches)

    def __repr__(self) -> str:
        words = "" if self.motion is None else f", {self.motion.words}"
        return (
            f"<MatchedObject {self.id}: {self.confidence}, {self.n_matches} matches,"
            f" score {self.score:.2f}{words}>"
        )

    @property
    def rank(self) -> float:
        """What pairs are ranked by: the score times the share that the object covers of the picture of which
        it covers more. A logo alone covers little of a product's picture, however well it matches.
        """
        return self.score * max(self.motion.share, self.motion.share1) if self.motion else self.score


def describe_object(number, xy0, xy1, score, tolerance=5.0, box=None, box1=None):
    """The object of the correspondences xy0, xy1 (n, 2) of one cluster, n >= 1.

    box, box1 : (2, 2) least and greatest x and y of picture 0 and 1; None: of the correspondences
    """
    outline0, outline1 = outlines(xy0, xy1)
    transform, kind = fit_transform(xy0, xy1, tolerance)
    error = float(np.median(np.linalg.norm(apply_transform(transform, xy0) - xy1, axis=1)))
    box, box1 = (
        np.array([xy.min(axis=0), xy.max(axis=0)]) if given is None else given
        for xy, given in ((xy0, box), (xy1, box1))
    )
    return MatchedObject(
        number, len(xy0), float(score), outline0, outline1, transform, kind, error,
        fit_frame(xy0, xy1, box, transform), motion_of(transform, outline0, outline1, box, box1),
        points0=xy0, points1=xy1,
    )  # fmt: skip


def with_things(objects: Sequence[MatchedObject], things: Sequence[Thing]) -> tuple[MatchedObject, ...]:
    """The objects with the numbers of their things."""
    number = {k: thing.number for thing in things for k in thing.objects}
    return tuple(replace(found, thing=number[k]) for k, found in enumerate(objects))


def apply_transform(transform, xy):
    """(n, 2) points through a (3, 3) transform."""
    mapped = np.column_stack([xy, np.ones(len(xy))]) @ transform.T
    return mapped[:, :2] / mapped[:, 2:]


def fit_transform(xy0, xy1, tolerance=5.0):
    """The robust transform (3, 3) of matched points, and its kind: a homography if it is sound and fits
    better than an affine map.
    """
    affine = _affine(xy0, xy1, tolerance)
    homography = _opencv.fit_homography(xy0, xy1, tolerance) if len(xy0) >= 8 else None
    if homography is not None and _is_sound(homography, xy0):
        error = [
            np.median(np.linalg.norm(apply_transform(t, xy0) - xy1, axis=1)) for t in (homography, affine)
        ]
        if error[0] < 0.95 * error[1]:
            return homography / homography[2, 2], "homography"
    return affine, "affine"


def _affine(xy0, xy1, tolerance):
    affine = _opencv.fit_affine(xy0, xy1, tolerance)
    if affine is None or not np.isfinite(affine).all():
        # fewer than three points, or all in one line: the shift alone
        affine = np.column_stack([np.eye(2), np.median(xy1 - xy0, axis=0)])
    return np.vstack([affine, [0.0, 0.0, 1.0]])


def _is_sound(homography, xy):
    """Whether a homography keeps the points on one side of the horizon, and well away from it."""
    hull = _opencv.convex_hull(xy)
    w = np.column_stack([hull, np.ones(len(hull))]) @ homography[2]
    one_side = (w > 0).all() or (w < 0).all()
    return bool(np.isfinite(homography).all() and one_side and abs(w).min() > 0.2 * abs(w).max())


def outlines(xy0, xy1):
    """Polygons (k, 2) around matched points in either image.

    Both trace the same triangles between matches: those of the Delaunay triangulation in image 0 that are
    small in both images. The longest side allowed grows until nearly all matches lie in one piece.
    """
    try:
        triangles = Delaunay(xy0).simplices if len(xy0) >= 4 else None
    except QhullError:  # all in one line
        triangles = None
    if triangles is None:
        return _opencv.convex_hull(xy0), _opencv.convex_hull(xy1)
    side = np.max([_longest_side(xy, triangles) for xy in (xy0 / _size(xy0), xy1 / _size(xy1))], axis=0)
    for limit in SIDES:
        kept = triangles[side <= limit]
        if len(np.unique(kept)) >= COVERED * len(xy0):
            traced = [_trace(xy, kept) for xy in (xy0, xy1)]
            if all(t is not None for t in traced):
                return tuple(traced)
    return _opencv.convex_hull(xy0), _opencv.convex_hull(xy1)


def _size(xy):
    return max(float(np.ptp(xy, axis=0).max()), 1.0)


def _longest_side(xy, triangles):
    corners = xy[triangles]  # (t, 3, 2)
    return np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)


def _trace(xy, triangles):
    """The outer boundary of triangles, smoothed; None where the largest piece holds less than COVERED of
    the points.
    """
    low, scale = xy.min(axis=0), OUTLINE_CANVAS / _size(xy)
    notch, spur = round(NOTCH * OUTLINE_CANVAS), round(SPUR * OUTLINE_CANVAS)
    margin = notch + 4
    drawn = (xy - low) * scale + margin
    shape = tuple(int(n) for n in np.ceil(drawn.max(axis=0))[::-1] + margin + 1)
    filled = _opencv.fill_polygons(shape, drawn[triangles])
    piece = _largest(_opencv.cut_spurs(_opencv.fill_notches(filled, notch), spur))
    if piece is None:
        return None
    # cutting spurs off may have opened a bay: once more, or the boundary touches itself
    piece = _largest(_opencv.fill_notches(_opencv.fill_polygons(shape, [piece]), notch))
    inside = _opencv.dilate(_opencv.fill_polygons(shape, [piece]), 3)
    at = np.rint(drawn).astype(int)
    if inside[at[:, 1], at[:, 0]].mean() < COVERED:
        return None
    return (_opencv.simplify_polygon(piece, 2.0) - margin) / scale + low


def _largest(mask):
    contours = _opencv.outer_contours(mask)
    return contours[0] if contours else None
