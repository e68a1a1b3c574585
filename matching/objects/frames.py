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

STRETCH, PERSPECTIVE = 0.2, 0.05  # standard deviations of the priors: of the deviation over the scale, of g
ROUNDS = 20  # of the robust fit
ACCURACY = 1.0  # pixels that matches are off at least
LEAST_DEPTH = 0.3  # of 1 + g x at the corners, which is 1 in the middle; below it, the map is affine


@dataclass(frozen=True, eq=False)
class Motion:
    """How an object lies in picture 1, compared with picture 0.

    Attributes
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

    centre: np.ndarray
    turn: float
    scale: float
    mirrored: bool
    share: float
    share1: float = 0.0

    @property
    def words(self) -> str:
        """The motion in a few words.

        >>> Motion(np.zeros(2), -30.0, 0.5, True, 0.4).words
        'mirrored, turned 30° anticlockwise, 0.50 times as large'
        """
        parts = ["mirrored"] if self.mirrored else []
        degrees = round(abs(self.turn))
        if degrees:
            parts.append(f"turned {degrees}° {'anti' if self.turn < 0 and degrees < 180 else ''}clockwise")
        parts.append(f"{self.scale:.2f} times as large" if abs(self.scale - 1) >= 0.005 else "as large")
        return ", ".join(parts)


def corners_of(box: np.ndarray) -> np.ndarray:
    """(4, 2) corners of a box (2, 2), its least and greatest x and y: top-left, then clockwise as seen."""
    (left, top), (right, bottom) = box
    return np.array([[left, top], [right, top], [right, bottom], [left, bottom]])


def fit_frame(xy0: np.ndarray, xy1: np.ndarray, box: np.ndarray, transform: np.ndarray) -> np.ndarray:
    """(4, 2) float64: the corners of a box in picture 0 as they lie in picture 1.

    Parameters
    ----------
    xy0, xy1 : (n, 2) float64
        Matches of one object.
    box : (2, 2) float64
        Least and greatest x and y.
    transform : (3, 3) float64
        The object's transform, which tells whether it is mirrored, and takes the place of a map that the
        matches don't fix.
    """
    middle, half = box.mean(axis=0), max(np.ptp(box, axis=0).max() / 2, 1e-9)
    centre = np.median(xy1, axis=0)
    unit = np.median(np.abs(xy1 - centre))
    corners = (corners_of(box) - middle) / half
    local = linear_part(transform, np.median(xy0, axis=0))
    mirrored = np.linalg.det(local) < 0
    if unit > 0 and len(xy0) >= 3:
        points = (xy0 - middle) / half, (xy1 - centre) / unit
        for perspective in (PERSPECTIVE, 0.0):
            linear, shift, g = _fit_map(*points, mirrored, perspective, ACCURACY / unit)
            depth = 1 + corners @ g
            mapped = (corners @ linear.T + shift) / depth[:, None]
            if depth.min() >= LEAST_DEPTH and np.isfinite(mapped).all():
                return mapped * unit + centre
    return (corners_of(box) - np.median(xy0, axis=0)) @ local.T + centre


def _fit_map(x, y, mirrored, perspective, accuracy):
    """A (2, 2), t (2,), g (2,) by iteratively reweighted least squares with Cauchy weights.

    The unknowns are a, b, c, d, t, g with A = [[a + c, d - b], [b + d, a - c]]: a, b are a similarity, c, d
    one that is mirrored, and either is the deviation from the other.
    """
    own, deviation = ([2, 3], [0, 1]) if mirrored else ([0, 1], [2, 3])
    (x0, x1), (y0, y1), one, zero = x.T, y.T, np.ones(len(x)), np.zeros(len(x))
    design = np.stack(
        [
            np.column_stack([x0, -x1, x0, x1, one, zero, -y0 * x0, -y0 * x1]),
            np.column_stack([x1, x0, -x1, x0, zero, one, -y1 * x0, -y1 * x1]),
        ]
    )  # (2, n, 8), of y (1 + g x) = A x + t
    weight, spread, g = one, 1.0, np.zeros(2)
    scale = _spread(y) / max(_spread(x), 1e-9)
    for _ in range(ROUNDS):
        depth = np.maximum(1 + x @ g, LEAST_DEPTH)
        rows = design * (weight / depth)[:, None]
        right = y.T * (weight / depth)
        prior = np.zeros(8)
        prior[deviation] = 1 / (STRETCH * scale)
        prior[6:] = 1 / perspective if perspective else 1e9
        normal = np.einsum("knp,knq->pq", rows, rows) + np.diag((prior * spread) ** 2 + 1e-12)
        unknown = np.linalg.solve(normal, np.einsum("knp,kn->p", rows, right))
        scale = max(float(np.hypot(*unknown[own])), 1e-9)
        a, b, c, d = unknown[:4]
        linear, shift, g = np.array([[a + c, d - b], [b + d, a - c]]), unknown[4:6], unknown[6:]
        depth = np.maximum(1 + x @ g, LEAST_DEPTH)
        off = np.linalg.norm((x @ linear.T + shift) / depth[:, None] - y, axis=1)
        spread = max(float(np.median(off)) / 1.18, accuracy)  # of a Rayleigh distribution
        weight = 1 / np.sqrt(1 + (off / (2 * spread)) ** 2)
    return linear, shift, g


def _spread(x):
    return float(np.median(np.abs(x - np.median(x, axis=0))))


def linear_part(transform: np.ndarray, point: np.ndarray) -> np.ndarray:
    """(2, 2): the derivative of a (3, 3) transform at a point (2,)."""
    u, v, w = transform @ [*point, 1.0]
    return (transform[:2, :2] - np.outer([u / w, v / w], transform[2, :2])) / w


def motion_of(
    transform: np.ndarray,
    outline0: np.ndarray,
    outline1: np.ndarray,
    box: np.ndarray,
    box1: np.ndarray | None = None,
) -> Motion:
    """The Motion of an object with this transform and these outlines; the pictures are boxes (2, 2)."""
    linear = linear_part(transform, _middle(outline0))
    mirrored = bool(np.linalg.det(linear) < 0)
    (a, b), (c, d) = linear @ np.diag([-1.0, 1.0]) if mirrored else linear
    turn = float(np.degrees(np.arctan2(c - b, a + d)))
    scale = float(np.sqrt(abs(np.linalg.det(linear))))
    shares = _share(outline0, box), 0.0 if box1 is None else _share(outline1, box1)
    return Motion(_middle(outline1), 180.0 if turn == -180 else turn, scale, mirrored, *shares)


def _share(outline, box):
    return min(polygon_area(outline) / max(float(np.prod(np.ptp(box, axis=0))), 1e-9), 1.0)


def polygon_area(polygon: np.ndarray) -> float:
    """Area of a polygon (k, 2)."""
    x, y = (polygon - polygon[0]).T
    return abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1))) / 2


def _middle(polygon):
    return (polygon.min(axis=0) + polygon.max(axis=0)) / 2
