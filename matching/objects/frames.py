"""Where picture 0 lies in picture 1, by the matches of one object, and how the object moved.

The matches may cover a small part of picture 0, so that its corners are an extrapolation, in which a plain
homography has errors many times as large as the matches have. The map fitted here,

    y = (A x + t) / (1 + g x),    x in [-1, 1]^2 over picture 0,    A = (similarity) + (deviation),

is drawn towards a similarity: its deviation and its perspective g have normal priors (ridge regression),
which decide where the matches tell nothing, and give way where they are many or spread out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from matching._common.types import Array, Floats
from matching.objects.robust import minimize_cauchy
from matching.objects.transforms import apply_transform, is_sound, linear_part

PRIOR = 0.05  # standard deviation of the deviation over the scale, and of g


@dataclass(frozen=True, eq=False)
class Motion:
    """How an object lies in picture 1, compared with picture 0.

    Parameters
    ----------
    centre : (2,) float64
        Its middle in picture 1, pixels.
    turn : float
        Degrees clockwise, as seen, in (-180, 180]; of a mirrored object, after it was turned over left to
        right.
    scale : float
        Pixels of picture 1 a pixel of picture 0.
    mirrored : bool
        Whether it is turned over.
    share, share1 : float
        In [0, 1], of picture 0 and of picture 1 (of the boxes around what their masks show) that the outlines
        cover.
    """

    centre: Array
    turn: float
    scale: float
    mirrored: bool
    share: float
    share1: float = 0.0

    @property
    def words(self) -> str:
        """The motion in a few words.

        Examples
        --------
        >>> Motion(np.zeros(2), -30.0, 0.5, True, 0.4).words
        'mirrored, turned 30° anticlockwise, 0.50 times as large'
        """
        parts = ["mirrored"] if self.mirrored else []
        degrees = round(abs(self.turn))
        if degrees:
            parts.append(f"turned {degrees}° {'anti' if self.turn < 0 and degrees < 180 else ''}clockwise")
        parts.append(f"{self.scale:.2f} times as large" if abs(self.scale - 1) >= 0.005 else "as large")
        return ", ".join(parts)


def list_corners(box: Array) -> Floats:
    """List the corners of a box.

    Parameters
    ----------
    box : (2, 2) float64
        Its least and greatest x and y.

    Returns
    -------
    (4, 2) float64
        Top-left, then clockwise as seen.
    """
    (left, top), (right, bottom) = box
    return np.array([[left, top], [right, top], [right, bottom], [left, bottom]])


def fit_frame(xy0: Floats, xy1: Floats, box: Floats, transform: Floats) -> Floats:
    """Find the corners of a box in picture 0 as they lie in picture 1.

    Parameters
    ----------
    xy0, xy1 : (n, 2) float64
        Matches of one object.
    box : (2, 2) float64
        Least and greatest x and y.
    transform : (3, 3) float64
        The object's transform, which the fit begins with, or with its derivative where it is steep over the
        box: it tells whether the object is mirrored, and how far matches are off. Its derivative takes the
        place of a map that the matches don't fix.

    Returns
    -------
    (4, 2) float64
        The corners.
    """
    middle, half = box.mean(axis=0), max(np.ptp(box, axis=0).max() / 2, 1e-9)
    corners = (list_corners(box) - middle) / half
    local = half * linear_part(transform, np.median(xy0, axis=0))
    x, centre = (xy0 - middle) / half, np.median(xy1, axis=0)
    unit = float(np.sqrt(abs(np.linalg.det(local))))
    if len(xy0) >= 3 and unit > 0:
        off = np.linalg.norm(apply_transform(transform, xy0) - xy1, axis=1)
        spread = max(np.median(off) / 1.18 / unit, np.finfo(np.float32).eps)  # of a Rayleigh distribution
        y, first = (xy1 - centre) / unit, np.eye(3)
        if is_sound(transform, list_corners(box)):
            first = np.linalg.inv(_to_pixels(centre, unit)) @ transform @ _to_pixels(middle, half)
        else:  # too steep to begin with
            first[:2, :2], first[:2, 2] = local / unit, np.median(y - x @ local.T / unit, axis=0)
        fitted = _fit_map(x, y, first / first[2, 2], spread)
        if is_sound(fitted, corners):
            return apply_transform(fitted, corners) * unit + centre
    return np.asarray((corners - np.median(x, axis=0)) @ local.T + centre)


def _to_pixels(origin: Floats, unit: float) -> Floats:
    """(3, 3): takes points in this unit from this origin to pixels."""
    return np.array([[unit, 0, origin[0]], [0, unit, origin[1]], [0, 0, 1]])


def _fit_map(x: Floats, y: Floats, first: Floats, spread: float) -> Floats:
    """(3, 3): the map that takes x to y by least squares with a Cauchy loss, from a first guess (3, 3).

    The unknowns are a, b, c, d, t, g with A = [[a + c, d - b], [b + d, a - c]]: a, b are a similarity, c, d
    one that is mirrored, and either is the deviation from the other.
    """
    (p, q, *_), (r, s, *_), _ = first
    is_mirrored = np.linalg.det(linear_part(first, np.median(x, axis=0))) < 0
    similar, deviant = ([2, 3], [0, 1]) if is_mirrored else ([0, 1], [2, 3])
    n, (x0, x1) = len(x), x.T

    def as_matrix(unknown: Floats) -> Floats:
        a, b, c, d, *t, g0, g1 = unknown
        return np.array([[a + c, d - b, t[0]], [b + d, a - c, t[1]], [g0, g1, 1.0]])

    def residuals(unknown: Floats) -> tuple[Floats, Floats]:
        share = 1 / (spread * (1 + x @ unknown[6:]))  # of an offset in the residuals
        mapped = apply_transform(as_matrix(unknown), x).T
        scale = np.hypot(*unknown[similar])
        off = np.concatenate([((mapped - y.T) / spread).ravel(), unknown[deviant] / (PRIOR * scale)])
        by = np.zeros((2 * n + 4, 8))
        own0, own1 = by[:n].T, by[n : 2 * n].T
        own0[:4] = x0 * share, -x1 * share, x0 * share, x1 * share
        own1[:4] = x1 * share, x0 * share, -x1 * share, x0 * share
        own0[4] = own1[5] = share
        own0[6:], own1[6:] = -mapped[0] * x.T * share, -mapped[1] * x.T * share
        by[[2 * n, 2 * n + 1], deviant] = 1 / (PRIOR * scale)
        by[2 * n : 2 * n + 2, similar] = -np.outer(unknown[deviant], unknown[similar]) / (PRIOR * scale**3)
        by[[2 * n + 2, 2 * n + 3], [6, 7]] = 1 / PRIOR
        return np.concatenate([off, unknown[6:] / PRIOR]), by

    start = np.array([*np.array([p + s, r - q, p - s, q + r]) / 2, *first[:2, 2], *first[2, :2]])
    return as_matrix(minimize_cauchy(residuals, start))


def describe_motion(
    transform: Array, outline0: Array, outline1: Array, box: Array, box1: Array | None = None
) -> Motion:
    """Describe how an object moved.

    Parameters
    ----------
    transform : (3, 3) float64
        The object's transform.
    outline0, outline1 : (k, 2) float64
        Its outlines.
    box, box1 : (2, 2) float64
        Least and greatest x and y of picture 0 and 1; without the second, `share1` is 0.

    Returns
    -------
    Motion
    """
    linear = linear_part(transform, _middle(outline0))
    mirrored = bool(np.linalg.det(linear) < 0)
    (a, b), (c, d) = linear @ np.diag([-1.0, 1.0]) if mirrored else linear
    turn = float(np.degrees(np.arctan2(c - b, a + d)))
    scale = float(np.sqrt(abs(np.linalg.det(linear))))
    shares = _share(outline0, box), 0.0 if box1 is None else _share(outline1, box1)
    return Motion(_middle(outline1), 180.0 if turn == -180 else turn, scale, mirrored, *shares)


def _share(outline: Array, box: Array) -> float:
    return min(polygon_area(outline) / max(float(np.prod(np.ptp(box, axis=0))), 1e-9), 1.0)


def polygon_area(polygon: Array) -> float:
    """Compute the area of a polygon.

    Parameters
    ----------
    polygon : (k, 2) array
        Its corners.

    Returns
    -------
    float
    """
    x, y = (polygon - polygon[0]).T
    return abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1))) / 2


def _middle(polygon: Array) -> Floats:
    middle: Floats = (polygon.min(axis=0) + polygon.max(axis=0)) / 2
    return middle
