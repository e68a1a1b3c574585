"""Homographies and affine maps between two images: fitted to matched points, and applied.

OpenCV's robust fits depend on only a few of the points. They are the first guess for a map fitted to all
points,

    y = (A x + t) / (1 + g x),    x in [-1, 1]^2 over a box in image 0,    A = (similarity) + (deviation),

by least squares with a Cauchy loss. The map is drawn towards a similarity: its deviation and its perspective
g have normal priors (ridge regression). The priors decide where the matches give no information, and yield
where the matches are many or spread out.
"""

import numpy as np

from matching._common import opencv
from matching._common.arrays import find_box
from matching._common.types import Array, Floats
from matching.correspondences.points import is_narrow
from matching.objects.robust import minimize_cauchy

# Standard deviation of the deviation from a similarity, relative to the scale, and of g. Frames of objects of
# 16 matches on shelf photographs have a mean IoU of 0.949, and of 0.860 without this prior.
PRIOR_DEVIATION = 0.05
# Factor of the variances of transforms: features that share pixels err alike. See the table of coverage.
CORRELATION = 1.15
SIGNIFICANT = 3.0  # half of chi squared of a perspective that chance gives to 5 % of affine maps
NO_PERSPECTIVE = 1e-9  # standard deviation of g for an affine map
MAX_ERROR_RATIO = 0.95  # a homography must lower the error of the affine map to this share
# Of the median error of a first transform, that of its refinement: film covers have at most 1.02,
# and a bent object of the demo 1.8.
MAX_REFINED_RATIO = 1.1
MIN_HOMOGRAPHY_POINTS = 8  # twice as many as define a homography
MIN_DEPTH_RATIO = 0.2  # between the nearest and the farthest corner of a polygon well before the horizon


def fit_transform(xy0: Floats, xy1: Floats, tolerance: float = 5.0) -> tuple[Floats, str]:
    """Fit points (n, 2) robustly: a homography if sound and better than an affine map -> (3, 3), its kind.

    Narrow points have no homography: the perspective across them is unknown. Their affine map is drawn
    towards a similarity, because they hardly tell its shear.
    """
    best, kind = _fit_affine(xy0, xy1, tolerance), "affine"
    if is_narrow(xy0) or is_narrow(xy1):
        return refine_transform(best, kind, xy0, xy1), kind
    bound = MAX_ERROR_RATIO * median_error(best, xy0, xy1)
    for homography in _fit_homographies(xy0, xy1, tolerance):
        error = median_error(homography, xy0, xy1)
        if error < bound:
            best, kind, bound = homography, "homography", error
    return best, kind


def _fit_affine(xy0: Floats, xy1: Floats, tolerance: float) -> Floats:
    """Fit an affine map (3, 3) robustly to points (n, 2)."""
    affine = opencv.fit_affine(xy0, xy1, tolerance)
    if affine is None or not np.isfinite(affine).all():
        # fewer than three points, or all on one line: only the shift is fitted
        affine = np.column_stack([np.eye(2), np.median(xy1 - xy0, axis=0)])
    return np.vstack([affine, [0.0, 0.0, 1.0]])


def _fit_homographies(xy0: Floats, xy1: Floats, tolerance: float) -> list[Floats]:
    """Fit a homography by OpenCV, and one to all points; return the sound ones, none if points are few."""
    if len(xy0) < MIN_HOMOGRAPHY_POINTS:
        return []
    hull = opencv.convex_hull(xy0)
    first = opencv.fit_homography(xy0, xy1, tolerance)
    if first is None or not is_sound(first, hull):
        return []
    refined = refine_homography(xy0, xy1, first, median_error(first, xy0, xy1), find_box(xy0))
    return [h / h[2, 2] for h in (first, refined) if is_sound(h, hull)]


def refine_transform(
    first: Floats, kind: str, xy0: Floats, xy1: Floats, weights: Floats | float = 1.0
) -> Floats:
    """Fit a transform (3, 3) of a kind to all points (n, 2) with a Cauchy loss, from a first one.

    weights (n,): of the points, all 1 by default. The first one is returned if the fit is not sound, or
    farther off in the median, as it may be on what bends.
    """
    perspective = NO_PERSPECTIVE if kind == "affine" else PRIOR_DEVIATION
    box, error = find_box(xy0), median_error(first, xy0, xy1)
    fitted = refine_homography(xy0, xy1, first, error, box, perspective, weights)
    fitted = fitted / fitted[2, 2]
    fitted[2, :2] *= kind != "affine"
    is_near = median_error(fitted, xy0, xy1) <= MAX_REFINED_RATIO * error
    return fitted if is_near and is_sound(fitted, opencv.convex_hull(xy0)) else first


def refine_homography(
    xy0: Floats,
    xy1: Floats,
    first: Floats,
    error: float,
    box: Floats,
    perspective: float = PRIOR_DEVIATION,
    weights: Floats | float = 1.0,
) -> Floats:
    """Fit a homography to all points (n, 2) with a Cauchy loss, from a first guess (3, 3); box (2, 2).

    perspective: the standard deviation of g.
    """
    middle, half = box.mean(axis=0), max(np.ptp(box, axis=0).max() / 2, 1e-9)
    derivative, centre = linear_part(first, np.median(xy0, axis=0)), np.median(xy1, axis=0)
    unit = half * float(np.sqrt(abs(np.linalg.det(derivative))))
    spread = max(error / 1.18 / unit, np.finfo(np.float32).eps)  # 1.18: median of a Rayleigh distribution
    spreads = np.full(len(xy0), spread * np.sqrt(np.max(weights) / weights))
    into, out = _scaling(half, middle), _scaling(unit, centre)
    start = np.linalg.inv(out) @ first @ into
    depth = start[2] @ [*(np.median(xy0, axis=0) - middle) / half, 1.0]
    least_depth = np.finfo(np.float32).eps * np.abs(start[2]).max()
    if not min(abs(start[2, 2]), abs(depth)) > least_depth:  # the horizon crosses the box
        return first
    fitted = _fit_map((xy0 - middle) / half, (xy1 - centre) / unit, start / start[2, 2], spreads, perspective)
    return out @ fitted @ np.linalg.inv(into)


def _fit_map(x: Floats, y: Floats, first: Floats, spread: Floats, perspective: float) -> Floats:
    """Fit the map (3, 3) from x to y by least squares with a Cauchy loss, from a first guess (3, 3).

    The unknowns are a, b, c, d, t, g with A = [[a + c, d - b], [b + d, a - c]]: a, b form a similarity, and
    c, d a mirrored one; each pair is the deviation from the other.
    """
    (p, q, *_), (r, s, *_), _ = first
    is_mirrored = np.linalg.det(linear_part(first, np.median(x, axis=0))) < 0
    similar, deviant = ([2, 3], [0, 1]) if is_mirrored else ([0, 1], [2, 3])
    (x0, x1), one, none = x.T, np.ones(len(x)), np.zeros(len(x))
    # derivatives of each coordinate of A x + t with respect to a, b, c, d, t
    design = np.array([[x0, -x1, x0, x1, one, none], [x1, x0, -x1, x0, none, one]])  # (2, 6, n)

    def as_matrix(unknown: Floats) -> Floats:
        a, b, c, d, *t, g0, g1 = unknown
        return np.array([[a + c, d - b, t[0]], [b + d, a - c, t[1]], [g0, g1, 1.0]])

    def residuals(unknown: Floats) -> tuple[Floats, Floats]:
        depth = 1 + x @ unknown[6:]
        mapped, scale = (unknown[:6] @ design) / depth, np.hypot(*unknown[similar])
        share = 1 / (spread * depth)  # residuals per unit of offset
        by = np.zeros((2 * len(x) + 4, 8))
        of_points = by[:-4].reshape(2, -1, 8).transpose(0, 2, 1)
        np.multiply(design, share, out=of_points[:, :6])
        np.multiply(-x.T, (mapped * share)[:, None], out=of_points[:, 6:])
        by[[-4, -3], deviant] = 1 / (PRIOR_DEVIATION * scale)
        by[-4:-2, similar] = -np.outer(unknown[deviant], unknown[similar]) / (PRIOR_DEVIATION * scale**3)
        by[[-2, -1], [6, 7]] = 1 / perspective
        off = (mapped - y.T) / spread
        priors = unknown[deviant] / (PRIOR_DEVIATION * scale), unknown[6:] / perspective
        return np.concatenate([*off, *priors]), by

    start = np.array([*np.array([p + s, r - q, p - s, q + r]) / 2, *first[:2, 2], *first[2, :2]])
    return as_matrix(minimize_cauchy(residuals, start))


def _scaling(unit: float, origin: Floats) -> Floats:
    """Make the map (3, 3) to pixels of points in this unit, relative to this origin."""
    return np.array([[unit, 0, origin[0]], [0, unit, origin[1]], [0, 0, 1]])


def fit_corners(xy0: Floats, xy1: Floats) -> Floats:
    """Find the homography that takes four points to four others: xy0, xy1 (4, 2) -> (3, 3)."""
    rows = []
    for (x, y), (u, v) in zip(xy0, xy1, strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
    return np.append(np.linalg.solve(rows, np.ravel(xy1)), 1.0).reshape(3, 3)


def apply_transform(transform: Array, xy: Array) -> Floats:
    """Map points by a transform: transform (3, 3); xy (n, 2) -> (n, 2)."""
    mapped: Floats = np.column_stack([xy, np.ones(len(xy))]) @ transform.T
    return mapped[:, :2] / mapped[:, 2:]


def median_error(transform: Array, xy0: Array, xy1: Array) -> float:
    """Compute the median error of a transform (3, 3) over points xy0, xy1 (n, 2)."""
    return float(np.median(transform_errors(transform, xy0, xy1)))


def transform_errors(transform: Array, xy0: Array, xy1: Array) -> Floats:
    """Compute the errors (n,) of a transform (3, 3) at points xy0, xy1 (n, 2)."""
    return np.asarray(np.linalg.norm(apply_transform(transform, xy0) - xy1, axis=1))


def measure_covariance(transform: Array, kind: str, xy0: Array, xy1: Array) -> Floats:
    """Covariance (8, 8) of the entries, row by row, of a transform (3, 3) fitted to points xy0, xy1 (n, 2).

    The last entry is 1. This is the sandwich estimate for the Cauchy loss (Huber 1967), H^-1 (sum g g') H^-1
    with the gradients g of the points and the curvature H: it needs no variance of the points, which may
    differ. Places that repeat count once. An affine map may be wrong by the perspective that the points tell
    beyond chance.
    """
    rows = np.unique(np.rint(np.hstack([xy0, xy1])), axis=0, return_index=True)[1]
    xy0, xy1, n = xy0[rows], xy1[rows], len(rows)
    x, mapped = np.column_stack([xy0, np.ones(n)]), apply_transform(transform, xy0)
    design = np.zeros((2, n, 8))  # derivatives of both coordinates with respect to the entries
    for k in range(2):
        design[k, :, 3 * k : 3 * k + 3], design[k, :, 6:] = x, -mapped[:, k : k + 1] * xy0
    design /= (x @ transform[2])[:, None]
    unit = np.maximum(np.sqrt((design**2).sum(axis=(0, 1))), np.finfo(float).tiny)
    design /= unit
    off = (mapped - xy1).T
    spread = max(np.median(np.hypot(*off)) / 1.18, np.finfo(np.float32).eps * np.abs(xy1).max(initial=1.0))
    off /= spread
    weight = 1 / (1 + off**2)
    curvature = np.einsum("kni,kn,knj->ij", design, (1 - off**2) * weight**2, design)
    gradients = spread * np.einsum("kni,kn->ni", design, off * weight)
    scatter = CORRELATION * n / max(n - 8, 1) * gradients.T @ gradients
    if kind == "affine":
        half = max(np.ptp(xy0, axis=0).max(initial=0) / 2, np.finfo(float).tiny)
        curvature[6:, 6:] += np.diag((spread * half / (PRIOR_DEVIATION * unit[6:])) ** 2)
    inverse = np.linalg.pinv(curvature, hermitian=True)
    covariance = inverse @ scatter @ inverse
    if kind == "affine":
        step = inverse @ gradients.sum(axis=0)  # to the homography
        chance = step[6:] @ np.linalg.pinv(covariance[6:, 6:], hermitian=True) @ step[6:] / 2
        inverse = np.linalg.pinv(curvature[:6, :6], hermitian=True)
        covariance = np.zeros((8, 8))
        covariance[:6, :6] = inverse @ scatter[:6, :6] @ inverse
        covariance += max(1 - SIGNIFICANT / max(chance, SIGNIFICANT), 0.0) * np.outer(step, step)
    return np.asarray(covariance / np.outer(unit, unit))


def is_sound(transform: Array, polygon: Array) -> bool:
    """Test whether a transform (3, 3) keeps a polygon (k, 2) well on one side of the horizon."""
    w = np.column_stack([polygon, np.ones(len(polygon))]) @ transform[2]
    one_side = (w > 0).all() or (w < 0).all()
    return bool(np.isfinite(transform).all() and one_side and abs(w).min() > MIN_DEPTH_RATIO * abs(w).max())


def linear_part(transform: Array, point: Array) -> Floats:
    """Find the derivative of a transform: transform (3, 3); point (2,) -> (2, 2)."""
    u, v, w = transform @ [*point, 1.0]
    return np.asarray((transform[:2, :2] - np.outer([u / w, v / w], transform[2, :2])) / w)
