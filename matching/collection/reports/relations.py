"""The relation of two pictures, from the motion of the objects that both show: copy, crop, thumbnail...

The frame is the quadrilateral of the corners of picture 0 in picture 1. share0 is the share of picture 0
inside picture 1, and share1 the share of picture 1 inside the frame.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import shapely

from matching._common.arrays import count_distinct
from matching._common.types import Array, Floats
from matching.agreement.comparison import MAX_GREY, MIN_COLOUR, compare
from matching.agreement.grid import Ends, choose_base
from matching.agreement.look import look_between
from matching.agreement.overlay import compare_overlaid
from matching.objects.comparison import Comparison
from matching.objects.deformation import SmoothMap
from matching.objects.frames import describe_motion, list_corners, polygon_area
from matching.objects.transforms import apply_transform, is_sound

# Share of a picture from which it counts as the whole: fits err by a few percent at the borders.
MIN_WHOLE_SHARE = 0.93
STRAIGHT_DEGREES = 3.0  # a turn this close to a multiple of 90 degrees counts as one
MAX_EQUAL_RATIO = 1.05  # ratio of sizes up to which they count as equal
# Share of both pictures that a copy shows at least if it is turned by any angle, with filled corners.
MIN_FILLED_SHARE = 0.35
OFF_CENTRE_SHARE = 0.03  # of the diagonal: largest shift of a copy that is turned about its middle
# A match may err by this many pixels of the coarser picture, or by this share of the diagonal of the part
# shown, which is less than the error of a photograph.
TOLERANCE_PIXELS, TOLERANCE_SHARE = 2.0, 0.005
N_FIT_ROUNDS = 5
# Share of the print that agrees if one picture was made from the other, or both from one template: strongly
# compressed, blurred and captioned copies have 0.68 and more, chats of one program 0.69, pictures into which
# a part of the other one was pasted 0.45 at most.
MIN_AGREEING = 0.6
MIN_TEMPLATE_AGREEING = 0.45  # the same of two whole pictures of one size: crosswords of one grid have 0.49
# If one picture was changed: the share of what both show that differs, and the number of the places times the
# share that lies between them, as places of one template are many and far apart. Captions and altered places
# have up to 0.15 and 0.04; tickets, chats, slides and forms have a second number of 0.21 and more.
MAX_CHANGED, MAX_SCATTERED = 0.2, 0.1
# Share of the print that agrees in pictures that are known to be the same: copies at a JPEG quality of 30
# have 0.95 and more.
MIN_SAME = 0.9
MAX_TONE_CHANGE = 10.0  # grey values by which the means of copies differ; recompression moves them by 1
UNCOMPARED = Comparison()
Size = tuple[int, int]  # width and height, pixels
NAMES = {  # of each kind: what picture 0 is to picture 1 if it is the derived one, and if not
    "copy": ("copy of",),
    "thumbnail": ("thumbnail of", "larger copy of"),
    "crop": ("part of", "shows more than"),
    "same template": ("same template as",),
    "shows": ("shown in", "shows"),
    "same thing": ("same thing as",),
}
# Completeness of one of two pictures that show the same thing: photographs of covers have 0.51 and more,
# packages of one brand 0.47 at most.
MIN_COMPLETENESS = 0.5


@dataclass(frozen=True)
class Relation:
    """The relation of two pictures."""

    # "copy", "thumbnail", "crop", "turned" or "mirrored", if one picture was made from the other; "same
    # template", if both were made from a third one; "shows", if one is a photograph of the other; "same
    # thing" or "shares a part"
    kind: str
    derived: int | None  # 0 or 1, the one that is a thumbnail or crop, or is shown; None for other kinds
    # share of each picture that the other one shows, if one motion holds throughout; in a group, the objects
    # measure it for the kinds "same thing" and "shares a part"
    share0: float
    share1: float
    # degrees by which picture 0 is turned in picture 1, clockwise, in (-180, 180], after any flip
    turn: float
    scale: float  # size of picture 0 in picture 1; NaN, like the turn, if no frame is known
    mirrored: bool
    compared: Comparison = UNCOMPARED  # of pictures of which one was made from the other, or both from one

    @property
    def is_measured(self) -> bool:
        """Whether one motion holds throughout, so that turn, scale and shares are those of whole pictures."""
        return self.kind not in ("same thing", "shows", "shares a part")

    @property
    def verdict(self) -> str:
        """Whether a picture that was made from the other is the same, in words; "" if the role says it."""
        is_told = not self.is_measured or self.kind == "same template" or self.compared.differences
        return "" if is_told else self.compared.verdict

    @property
    def role(self) -> str:
        """The role of picture 0, as words that stand before the name of picture 1."""
        if self.kind == "shares a part":
            return f"shares a part with ({min(self.share0, self.share1):.0%})".replace("%", " %")
        words = [NAMES.get(self.kind, (f"{self.kind} copy of",))[self.derived or 0]]
        if self.compared.differences:
            words.append(self.compared.verdict)
        return ", ".join((*words, *self.compared.reverse(self.scale).appearance))

    def reverse(self) -> Relation:
        """Exchange the two pictures."""
        return replace(
            self,
            derived=None if self.derived is None else 1 - self.derived,
            share0=self.share1,
            share1=self.share0,
            turn=self.turn if self.mirrored or self.turn == 180 else -self.turn,
            scale=1 / self.scale,
            compared=self.compared.reverse(self.scale),
        )


# If no frame is known.
UNMEASURED = Relation("same thing", None, math.nan, math.nan, math.nan, math.nan, False)


def map_frame(transform: Array, size: Size) -> Array | None:
    """Map the corners of a picture to the other one: transform (3, 3) -> (4, 2) or None."""
    corners = _corners(size)
    return apply_transform(transform, corners) if is_sound(transform, corners) else None


def fit_motion(xy0: Array, xy1: Array, transform: Array, size0: Size, size1: Size) -> Array | None:
    """Fit the similarity that explains the most matches xy0, xy1 (n, 2), from a transform -> (3, 3) or None.

    It must explain more than half of the places in one of the pictures: a wallpaper matches itself elsewhere.
    """
    frame = map_frame(transform, size0)
    if frame is None:
        return None
    diagonal = min(math.hypot(*np.ptp(frame, axis=0)), math.hypot(*size1))
    enlargement = max(math.sqrt(polygon_area(frame) / (size0[0] * size0[1])), 1.0)
    tolerance = max(TOLERANCE_SHARE * diagonal, TOLERANCE_PIXELS * enlargement)
    is_explained = np.linalg.norm(apply_transform(transform, xy0) - xy1, axis=1) <= 4 * tolerance
    for _ in range(N_FIT_ROUNDS):
        if is_explained.sum() < 3:
            return None
        transform = fit_similarity(xy0[is_explained], xy1[is_explained])
        is_explained = np.linalg.norm(apply_transform(transform, xy0) - xy1, axis=1) <= tolerance
    largest_share = max(count_distinct(xy[is_explained]) / count_distinct(xy) for xy in (xy0, xy1))
    return transform if largest_share > 0.5 else None


def find_relation(transform: Array, size0: Size, size1: Size) -> Relation:
    """Find the relation of two pictures if one similarity (3, 3) maps everything that both of them show."""
    frame = map_frame(transform, size0)
    if frame is None:
        return UNMEASURED
    motion = describe_motion(transform, _corners(size0), frame, _box(size0))
    turn, scale, mirrored = motion.turn, motion.scale, motion.mirrored
    common = shapely.Polygon(frame).intersection(shapely.box(*_box(size1).ravel())).area
    share0 = min(common / max(polygon_area(frame), 1e-9), 1.0)
    share1 = min(common / (size1[0] * size1[1]), 1.0)
    kind, derived = _choose_kind(share0, share1, turn, scale, mirrored)
    if (
        kind == "same thing"
        and abs(turn) > STRAIGHT_DEGREES
        and _is_within_canvas(frame, scale, size0, size1)
    ):
        kind = "mirrored" if mirrored else "turned"
    return Relation(kind, derived, share0, share1, turn, scale, mirrored)


def check_made(relation: Relation, image0: Array, image1: Array, motion: Array) -> Relation:
    """Check by the pixels (h, w, 3) whether one picture was made from the other, as a motion (3, 3) tells."""
    found = compare_overlaid(image0, image1, motion)
    is_whole = relation.kind in ("copy", "thumbnail")
    if found.agreeing < (MIN_TEMPLATE_AGREEING if is_whole else MIN_AGREEING):
        return replace(relation, kind="same thing", derived=None)
    is_changed = found.differing <= MAX_CHANGED and found.n_places * found.gaps <= MAX_SCATTERED
    if found.agreeing < MIN_AGREEING or not is_changed:
        return replace(relation, kind="same template", derived=None, compared=Comparison(is_same=False))
    compared = _look_closely(image0, image1, motion)
    if found.n_places or found.agreeing < MIN_SAME:
        compared = replace(compared, is_same=False if compared.differences else None)
    words = *_list_looks(image0, image1, is_equal=is_whole and not compared.differences), *compared.appearance
    compared = replace(compared, appearance=tuple(dict.fromkeys(words)))
    return replace(relation, compared=compared)


def _look_closely(image0: Array, image1: Array, motion: Array) -> Comparison:
    """Compare two pictures (h, w, 3) at their pixels where a motion (3, 3) lays one on the other."""
    frame = _corners(image0.shape[1::-1])
    within = np.clip(apply_transform(motion, frame), *_box(image1.shape[1::-1]))
    shown = apply_transform(np.linalg.inv(motion), within)
    ends = [Ends(image0, shown), Ends(image1, within)]
    is_swapped = choose_base(*ends)
    matrix = np.linalg.inv(motion) if is_swapped else motion
    base, other = ends[::-1] if is_swapped else ends
    smooth_map = SmoothMap(matrix, math.inf, 0.0, 0.0)
    return compare(base, other, smooth_map, base.xy, is_swapped=is_swapped, is_largest=True)


def _list_looks(image0: Array, image1: Array, *, is_equal: bool) -> list[str]:
    """List in what picture 1 (h, w, 3) looks other; is_equal: whether both show the same."""
    colour0, colour1 = (float(np.ptp(image, axis=2).mean()) for image in (image0, image1))
    words = ["in colour"] if colour0 < MAX_GREY and colour1 > MIN_COLOUR else []
    change = float(image1.mean()) - float(image0.mean())
    if is_equal and abs(change) > MAX_TONE_CHANGE:
        words.append("darker" if change < 0 else "brighter")
    return words


def find_shown(
    image0: Array, image1: Array, xy0: Floats, xy1: Floats, transform: Array
) -> tuple[float, float]:
    """Measure which share of each of two pictures (h, w, 3) the other shows, by an object's matches (n, 2).

    0 if it shows less than half of the print that should be visible.
    """
    ends = (image0, xy0, transform), (image1, xy1, np.linalg.inv(transform))
    shares = [0.0, 0.0]
    for k, ((first, points0, forward), (second, points1, _)) in enumerate((ends, ends[::-1])):
        size = first.shape[1], first.shape[0]
        if (frame := map_frame(forward, size)) is not None:
            look = look_between(first, second, points0, points1)
            _, found = look.look_around((_corners(size), frame))
            if found is not None and found.value >= MIN_COMPLETENESS:
                shares[k] = found.visible
    return shares[0], shares[1]


def fit_similarity(xy0: Array, xy1: Array) -> Array:
    """Fit a similarity, mirrored or not, by least squares: xy0, xy1 (n, 2) -> (3, 3)."""
    mean0, mean1 = xy0.mean(axis=0), xy1.mean(axis=0)
    u, stretch, v = np.linalg.svd((xy1 - mean1).T @ (xy0 - mean0))  # orthogonal Procrustes
    linear = stretch.sum() / max(((xy0 - mean0) ** 2).sum(), 1e-9) * (u @ v)
    return np.vstack([np.column_stack([linear, mean1 - linear @ mean0]), [0.0, 0.0, 1.0]])


def _choose_kind(
    share0: float, share1: float, turn: float, scale: float, mirrored: bool
) -> tuple[str, int | None]:
    """Choose the kind of a relation, and which picture is the derived one, as in `Relation`."""
    off_straight = abs((turn + 45) % 90 - 45)
    if min(share0, share1) >= MIN_WHOLE_SHARE:
        if mirrored:
            return "mirrored", None
        if abs(turn) > STRAIGHT_DEGREES:
            return "turned", None
        if max(scale, 1 / scale) <= MAX_EQUAL_RATIO:
            return "copy", None
        return "thumbnail", 0 if scale > 1 else 1
    if max(share0, share1) >= MIN_WHOLE_SHARE:
        if off_straight <= STRAIGHT_DEGREES:
            return "crop", 0 if share0 > share1 else 1
        if min(share0, share1) >= MIN_FILLED_SHARE:  # turned by any angle, corners cut off or filled
            return "turned", None
    return "same thing", None


def _is_within_canvas(frame: Floats, scale: float, size0: Size, size1: Size) -> bool:
    """Test whether a picture was turned about its middle, and cut off at its former borders."""
    offset = np.linalg.norm(frame.mean(axis=0) - _corners(size1).mean(axis=0))
    sides = (size1[k] / (scale * size0[k]) for k in range(2))
    fits = all(1 / MAX_EQUAL_RATIO <= side <= MAX_EQUAL_RATIO for side in sides)
    return fits and bool(offset <= OFF_CENTRE_SHARE * math.hypot(*size1))


def _corners(size: Size) -> Floats:
    """The corners (4, 2) of a picture of this width and height."""
    return list_corners(_box(size))


def _box(size: Size) -> Floats:
    """The smallest and the largest x and y (2, 2) of a picture of this width and height."""
    return np.array([(0, 0), size]) - 0.5
