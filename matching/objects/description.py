"""Objects in the result: their outlines in both images, and the transforms from image to image."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import shapely

from matching._common import opencv
from matching._common.arrays import find_box
from matching._common.once import Later
from matching._common.types import Array, Floats, Ints
from matching.correspondences.points import as_numbers
from matching.objects.comparison import Comparison
from matching.objects.completeness import Completeness
from matching.objects.confidence import confidence
from matching.objects.differences import Difference
from matching.objects.frames import Motion, describe_motion, fit_frame, polygon_area
from matching.objects.things import Thing
from matching.objects.transforms import (
    fit_transform,
    measure_covariance,
    refine_transform,
    transform_errors,
)

MAX_TRIANGLE_SIDE = 0.45  # of a triangle inside an outline, in sizes of the object; no record of a choice
MIN_SHARE_INSIDE = 0.9  # of an object's matches that its outline must contain; no record of a choice


UNKNOWN = Later.known(Comparison())


def _no_points() -> Floats:
    return np.empty((0, 2))


@dataclass(frozen=True, eq=False, repr=False)
class MatchedObject:
    """One object that both pictures show.

    Parameters
    ----------
    id : int
        The object's number in `cluster`.
    n_matches : int
        How many correspondences it has.
    score : float
        In [0, 1]: the mean share of the 35 candidates nearest to a match that agree with it.
    outline0, outline1 : (k, 2) float64
        Polygons around the matches in image 0 and 1, pixels.
    transform : (3, 3) float64
        Maps homogeneous pixels of image 0 to image 1 over the object.
    transform_kind : str
        "homography", or "affine" if a homography fits no better.
    transform_error : float
        Median distance in pixels of image 1 between transformed and matched points.
    frame1 : (4, 2) float64 or None
        The corners of picture 0, or of the box around what its mask shows, in picture 1: top-left first, then
        clockwise in picture 0; None if unknown.
    motion : Motion or None
        Its position in picture 1 relative to picture 0; None if unknown.
    thing : int
        The number of the thing that it shows: objects with the same place in picture 0 are copies of one
        thing and have the same number.
    points0, points1 : (n_matches, 2) float64
        Its matches in image 0 and 1, pixels; empty if unknown.
    log_nfa : float or None
        Log10 of its number of false alarms: how many places agree as well by chance
        (`matching.agreement.existence`), or without the pixels, how many objects as good as this one the same
        matches form by chance (`matching.grouping.significance`). None if unknown, as with the paper's
        grouping.
    completeness : Completeness or None
        How much of picture 0 it shows; None if that was not measured, as without the pixels of both pictures.
    inlier_share : float or None
        Share of its matches that the transform fits to within 6 pixels at the size at which the picture was
        matched. If an object is bent, the transform fits only a part of it. None if unknown.
    compared : Later of Comparison
        Whether it is the same in both pictures, and where it differs: compared when it is first read.
    is_doubtful : bool or None
        Whether what lies between the matches leaves doubt about the object. Then it is not more than "look at
        it". None without the pixels of both pictures.
    caution : str
        Why it is doubtful: "little print", "blurred", "seen steeply", "another light", or "".
    """

    id: int
    n_matches: int
    score: float
    outline0: Array
    outline1: Array
    transform: Array
    transform_kind: str
    transform_error: float
    frame1: Array | None = None
    motion: Motion | None = None
    thing: int = 0
    points0: Array = field(default_factory=_no_points)
    points1: Array = field(default_factory=_no_points)
    log_nfa: float | None = None
    completeness: Completeness | None = None
    inlier_share: float | None = None
    compared: Later[Comparison] = UNKNOWN
    is_doubtful: bool | None = None
    caution: str = ""

    @property
    def confidence(self) -> str | None:
        """How sure it is: "sure", "likely" or "look at it"; None if unknown.

        See `matching.objects.confidence`.
        """
        return confidence(self.log_nfa, self.is_doubtful)

    @property
    def is_same(self) -> bool | None:
        """Whether it is the same in both pictures, see `Comparison`; None without the pixels."""
        return self.compared.read().is_same

    @property
    def differences(self) -> tuple[Difference, ...]:
        """The places where the pictures do not show the same print, the one with most evidence first."""
        return self.compared.read().differences

    @property
    def smallest_difference(self) -> float:
        """Pixels of picture 0: the size from which a difference would have been found; inf without pixels."""
        return self.compared.read().smallest_difference

    @property
    def appearance(self) -> tuple[str, ...]:
        """In what picture 1 looks other than picture 0, in words, see `Comparison`."""
        return self.compared.read().appearance

    @property
    def transform_covariance(self) -> Floats | None:
        """(8, 8) float64: the covariance of the first eight entries of `transform`, row by row.

        The last entry is 1. If the transform is affine, the rows and columns of the seventh and eighth are 0,
        unless the matches tell that there is a perspective.
        None if the matches are unknown.
        """
        if not len(self.points0):
            return None
        return measure_covariance(self.transform, self.transform_kind, self.points0, self.points1)

    @property
    def is_whole(self) -> bool:
        """Whether it is known to show the whole of picture 0, as far as that is visible."""
        return self.completeness is not None and self.completeness.is_whole

    @property
    def sameness(self) -> str:
        """Whether it is the same in both pictures, in words, see `Comparison.words`, or "".

        That it can't be told matters where the whole of picture 0 is shown, because that counts as a copy.
        """
        compared = self.compared.read()
        return "" if compared.is_same is None and not self.is_whole else compared.words

    @property
    def doubt(self) -> str:
        """In what the pictures may differ, in words, or "": "differs in 1 place"."""
        return "" if self.is_same else self.sameness

    @property
    def certainty(self) -> str:
        """How sure it is, and why it is no surer: "look at it (blurred)"; "" if unknown."""
        return (self.confidence or "") + (f" ({self.caution})" if self.caution else "")

    def __repr__(self) -> str:
        motion = "" if self.motion is None else self.motion.words
        matches = f"{self.n_matches} matches, score {self.score:.2f}"
        words = ", ".join(filter(None, (self.certainty, matches, motion, self.sameness)))
        return f"<MatchedObject {self.id}: {words}>"

    @property
    def rank(self) -> float:
        """The value by which pairs are ranked: the score times the share of a picture that the object covers.

        The share is that in the picture where it is larger. A logo alone, however well it matches, covers
        little of the picture of a product.
        """
        covered = None if self.motion is None else self.motion.covered
        return self.score if covered is None else self.score * covered


def describe_object(
    number: int,
    xy0: Floats,
    xy1: Floats,
    score: float,
    tolerance: float = 5.0,
    box: Floats | None = None,
    box1: Floats | None = None,
    log_nfa: float | None = None,
    weights: Floats | float = 1.0,
) -> MatchedObject:
    """Describe the object of the correspondences of one cluster: xy0, xy1 (n, 2); box, box1 (2, 2)."""
    outline0, outline1 = draw_outlines(xy0, xy1)
    transform, kind = fit_transform(xy0, xy1, tolerance)
    transform = refine_transform(transform, kind, xy0, xy1, weights)
    errors = transform_errors(transform, xy0, xy1)
    box, box1 = (find_box(xy) if given is None else given for xy, given in ((xy0, box), (xy1, box1)))
    return MatchedObject(
        number, len(xy0), float(score), outline0, outline1, transform, kind, float(np.median(errors)),
        fit_frame(xy0, xy1, box, transform), describe_motion(transform, outline0, outline1, box, box1),
        log_nfa=log_nfa, points0=xy0, points1=xy1, inlier_share=float(np.mean(errors <= tolerance)),
    )  # fmt: skip


def add_comparison(
    found: MatchedObject, is_same: bool | None, differences: Sequence[Difference] = ()
) -> MatchedObject:
    """Give an object what is known of it."""
    return replace(found, compared=Later.known(Comparison(is_same, tuple(differences))))


def replace_outlines(found: MatchedObject, outline0: Floats, outline1: Floats) -> MatchedObject:
    """Give an object other outlines (k, 2), if they hold nearly all of its matches."""
    pairs = (outline0, found.outline0, found.points0), (outline1, found.outline1, found.points1)
    if not all(len(new) >= 3 and _holds(shapely.Polygon(new).buffer(0), xy) for new, _, xy in pairs):
        return found
    motion = found.motion
    if motion is not None and motion.share is not None:
        growth0, growth1 = (polygon_area(new) / max(polygon_area(old), 1e-9) for new, old, _ in pairs)
        shares = min(motion.share * growth0, 1.0), min((motion.share1 or 0.0) * growth1, 1.0)
        motion = replace(motion, share=shares[0], share1=shares[1])
    return replace(found, outline0=outline0, outline1=outline1, motion=motion)


def add_things(objects: Sequence[MatchedObject], things: Sequence[Thing]) -> tuple[MatchedObject, ...]:
    """Give objects the numbers of their things."""
    number = {k: thing.number for thing in things for k in thing.objects}
    return tuple(replace(found, thing=number[k]) for k, found in enumerate(objects))


def draw_outlines(xy0: Floats, xy1: Floats) -> tuple[Floats, Floats]:
    """Draw polygons (k, 2) around matched points xy0, xy1 (n, 2) in each image.

    Both polygons enclose the same Delaunay triangles: those that are small in both images. The triangulation
    is made in the image in which the points extend farther (ties: by bytes), so that swapping the images
    changes nothing. If the triangles don't hold nearly all matches, the polygons are convex hulls. Corners
    are exact to a thousandth of the polygon's size.
    """
    triangles = _triangulate(max(xy0, xy1, key=lambda xy: (_size(xy), np.sort(xy, axis=0).tobytes())))
    side = np.max([_measure_sides(xy, triangles) / _size(xy) for xy in (xy0, xy1)], axis=0)
    small = triangles[side <= MAX_TRIANGLE_SIDE]
    pieces = [_merge_triangles(xy, small) for xy in (xy0, xy1) if len(small)]
    if pieces and all(_holds(piece, xy) for piece, xy in zip(pieces, (xy0, xy1), strict=True)):
        first, second = (
            simplify(shapely.get_coordinates(piece)[:-1], _size(xy) / 1000)
            for piece, xy in zip(pieces, (xy0, xy1), strict=True)
        )
        return first, second
    return opencv.convex_hull(xy0), opencv.convex_hull(xy1)


def _triangulate(xy: Floats) -> Ints:
    """Triangulate points (n, 2) by Delaunay's rule -> rows (t, 3); none if they are all in one line."""
    places, row = np.unique(as_numbers(xy), return_index=True)
    mesh = shapely.get_parts(shapely.delaunay_triangles(shapely.multipoints(xy)))
    corners = shapely.get_coordinates(mesh).reshape(-1, 4, 2)[:, :3]  # the last corner repeats the first
    return np.asarray(row[np.searchsorted(places, as_numbers(corners))].reshape(-1, 3))


def _size(xy: Floats) -> float:
    """Measure the longer side of the box around points (n, 2); 1 if they all lie at one place."""
    return float(np.ptp(xy, axis=0).max()) or 1.0


def _measure_sides(xy: Floats, triangles: Ints) -> Floats:
    """Measure the longest side (t,) of each triangle (t, 3) of points (n, 2)."""
    corners = xy[triangles]  # (t, 3, 2)
    return np.asarray(np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1))


def _merge_triangles(xy: Floats, triangles: Ints) -> shapely.Polygon:
    """Find the largest piece of the union of triangles (t, 3), without holes; empty if none has an area."""
    parts = shapely.get_parts(_union(xy, triangles))
    return shapely.Polygon(max(parts, key=shapely.area).exterior) if len(parts) else shapely.Polygon()


def _union(xy: Floats, triangles: Ints) -> shapely.Geometry:
    """Unite the triangles of a mesh; they are joined along their sides first, which is faster."""
    (a, b), (c, d) = np.moveaxis(np.diff(xy[triangles], axis=1), 0, 2)
    area = (a * d - b * c) / 2
    triangles, area = triangles[area != 0], area[area != 0]
    shapes = shapely.polygons(xy[triangles])
    turned = area * area.sum() < 0
    at_fold = np.isin(triangles, triangles[turned]).any(axis=1)
    try:
        flat = shapely.coverage_union_all(shapes[~at_fold])
        if flat.is_valid and np.isclose(flat.area, np.abs(area[~at_fold]).sum(), rtol=1e-9):
            return shapely.union_all([flat, *shapes[at_fold]]) if at_fold.any() else flat
    except shapely.GEOSException:  # a side lies across another one
        pass
    return shapely.union_all(shapes)  # the mesh is folded over itself


def _holds(polygon: shapely.Polygon, xy: Floats) -> bool:
    """Test whether a polygon contains enough of the points (n, 2)."""
    shapely.prepare(polygon)
    return bool(shapely.intersects_xy(polygon, *xy.T).mean() >= MIN_SHARE_INSIDE)


def simplify(polygon: Floats, max_error: float) -> Floats:
    """Return the corners (k, 2) of a polygon (n, 2) without those that change it by less than an error."""
    if len(polygon) < 4:
        return polygon
    return np.asarray(shapely.get_coordinates(shapely.Polygon(polygon).simplify(max_error))[:-1])
