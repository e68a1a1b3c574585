"""The one place that knows OpenCV: plain arrays in, plain arrays out.

OpenCV's own types and quirks (``cv2.KeyPoint``, its integer codes, the differences between 4.x and
5.x) end here. Coordinates leave this module as (x, y) pixels, (0, 0) the centre of the top-left pixel.
"""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np

VERSION = cv2.__version__


def cpu_features() -> str:
    """The instruction sets that OpenCV has code for; * marks those chosen at run time, ? those that this
    processor lacks or the user has turned off.
    """
    return cv2.getCPUFeaturesLine()


def build_information() -> str:
    """How OpenCV was built, many lines."""
    return cv2.getBuildInformation()


def set_threads(n):
    """Let OpenCV use n threads; returns how many it used before."""
    before = cv2.getNumThreads()
    cv2.setNumThreads(n)
    return before


def mser_regions(grey, *, bright, delta, min_area, max_area, max_variation):
    """Pixels of every maximally stable extremal region, the bright or the dark ones.

    Parameters
    ----------
    grey : (h, w) uint8
    bright : bool
        Regions brighter than what is around them, or darker.
    delta : int
        Grey levels over which a region must be stable.
    min_area, max_area : int
        Pixels in a region.
    max_variation : float
        Largest relative growth of the area over `delta`.

    Returns
    -------
    tuple of (p, 2) int32, the (x, y) of all pixels of a region
    """
    if min(grey.shape) < 3:  # OpenCV reads outside the image below this size
        return ()
    # min_diversity=0: OpenCV 5.0 drops most grey regions at any other value, 4.x ignores it on grey images.
    detector = cv2.MSER_create(delta, min_area, max_area, max_variation, 0.0)
    detector.setPass2Only(True)
    return detector.detectRegions(grey if bright else 255 - grey)[0]


def gaussian_blur(image, sigma):
    """`image` smoothed by a Gaussian of `sigma` pixels, same dtype."""
    return cv2.GaussianBlur(image, (0, 0), sigma, borderType=cv2.BORDER_REPLICATE)


def read_deep(file: Path | bytes) -> np.ndarray | None:
    """A picture file, or its content, as (h, w, 3 or 4) RGB(A) of its own depth; None if OpenCV can't read
    it.

    A TIFF comes turned as its orientation tag says, other kinds don't.
    """
    log = cv2.utils.logging if hasattr(cv2.utils, "logging") else cv2  # from 4.13 on, and before
    level = log.getLogLevel()
    log.setLogLevel(0)  # it would tell of damage on standard error, in several lines
    try:
        image = None if isinstance(file, bytes) else cv2.imread(str(file), cv2.IMREAD_UNCHANGED)
        if image is None:  # 5.0 fails on TIFFs turned by a quarter; on Windows names must be ASCII
            content = (
                np.frombuffer(file, np.uint8) if isinstance(file, bytes) else np.fromfile(file, np.uint8)
            )
            image = cv2.imdecode(content, cv2.IMREAD_UNCHANGED)
    except cv2.error:
        return None
    finally:
        log.setLogLevel(level)
    if image is None or image.ndim != 3:
        return None
    return image[:, :, ::-1] if image.shape[2] == 3 else image[:, :, [2, 1, 0, 3]]


def luma(rgb):
    """(h, w) uint8: 0.299 R + 0.587 G + 0.114 B of (h, w, 3) uint8."""
    return cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY)


def resize_area(image, width, height):
    """`image` at a smaller size, each pixel the mean of the area that it covers."""
    return cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA)


def resize(image, factor):
    """`image` enlarged by a factor, or made smaller, bicubic; (0, 0) stays the centre of a pixel."""
    if factor == 1:
        return image
    size = tuple(max(round(n * factor), 1) for n in image.shape[1::-1])
    return cv2.resize(image, size, interpolation=cv2.INTER_CUBIC if factor > 1 else cv2.INTER_AREA)


def sample(image, xy):
    """(h, w, 3) uint8: `image` at the pixels xy (h, w, 2), bicubic, its edge beyond its edges."""
    x, y = np.moveaxis(xy.astype(np.float32), 2, 0)
    return cv2.remap(image, x, y, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)


def tilt(image, tilt, angle, antialiasing):
    """A picture as it looks from the side: turned by `angle` radians, then squeezed `tilt` times along x.

    Parameters
    ----------
    image : (h, w) uint8
    tilt : float
    angle : float
    antialiasing : float
        Pixels of blur along x, a unit of sqrt(tilt^2 - 1), before it is squeezed.

    Returns
    -------
    view : (h1, w1) uint8
        All of the picture; beyond its edge, the edge goes on.
    matrix : (2, 3) float64
        Takes the picture's pixels to the view's.
    """
    c, s = np.cos(angle), np.sin(angle)
    height, width = image.shape
    corners = np.array([[0, 0], [width - 1, 0], [0, height - 1], [width - 1, height - 1]])
    turned = corners @ np.array([[c, s], [-s, c]])
    low = turned.min(axis=0)
    long, high = (np.ceil(turned.max(axis=0) - low).astype(int) + 1).tolist()
    # Most of the squeezing by means of whole pixels, so that the blur is of few pixels and quick.
    whole = max(int(tilt / 2), 1)
    columns = -(-long // whole)
    turn = np.array([[c, -s, -low[0]], [s, c, -low[1]], [0, 0, 1]])
    view = cv2.warpAffine(image, turn[:2], (columns * whole, high), borderMode=cv2.BORDER_REPLICATE)
    if whole > 1:
        view = cv2.resize(view, (columns, high), interpolation=cv2.INTER_AREA)
    variance = antialiasing**2 * (tilt**2 - 1) - (whole**2 - 1) / 12  # the mean of n pixels blurs already
    if variance > 0:
        sigma = np.sqrt(variance) / whole
        view = cv2.GaussianBlur(view, (0, 1), sigmaX=sigma, sigmaY=1, borderType=cv2.BORDER_REPLICATE)
    squeeze = np.array([[1 / tilt, 0, 0], [0, 1, 0], [0, 0, 1]])
    of_means = np.array([[whole, 0, (whole - 1) / 2], [0, 1, 0], [0, 0, 1]])  # to the turned picture
    size = int((long - 1) / tilt) + 1, high
    view = cv2.warpAffine(view, (squeeze @ of_means)[:2], size, borderMode=cv2.BORDER_REPLICATE)
    return view, (squeeze @ turn)[:2]


def warp_mask(mask, matrix, shape):
    """(h1, w1) bool: a mask as a map (2, 3) of its pixels moves it, false beyond its edges."""
    warped = cv2.warpAffine(mask.astype(np.uint8), matrix, shape[::-1], flags=cv2.INTER_NEAREST)
    return warped.astype(bool)


def fit_homography(xy0, xy1, tolerance):
    """Robust homography (3, 3) that takes xy0 (n, 2) to xy1, or None. MAGSAC++ with OpenCV's fixed random
    state.
    """
    if len(xy0) < 4:
        return None
    matrix, _ = cv2.findHomography(xy0, xy1, cv2.USAC_MAGSAC, tolerance, maxIters=2000, confidence=0.999)
    return matrix


def fit_affine(xy0, xy1, tolerance):
    """Robust affine map (2, 3) that takes xy0 (n, 2) to xy1, or None."""
    if len(xy0) < 3:
        return None
    matrix, _ = cv2.estimateAffine2D(
        xy0, xy1, method=cv2.RANSAC, ransacReprojThreshold=tolerance, maxIters=2000
    )
    return matrix


def fit_fundamental(xy0, xy1, tolerance):
    """Robust fundamental matrix (3, 3) with x1' F x0 = 0, and the share of the points that it explains;
    (None, 0.0) where there is none.
    """
    if len(xy0) < 8:
        return None, 0.0
    matrix, inlier = cv2.findFundamentalMat(xy0, xy1, cv2.USAC_MAGSAC, tolerance, 0.999, 2000)
    if matrix is None or matrix.shape != (3, 3):
        return None, 0.0
    return matrix, float(inlier.mean())


def fill_polygons(shape, polygons):
    """(h, w) bool: the union of polygons, each (k, 2) pixels; an array (n, k, 2) is quickest."""
    image = np.zeros(shape, np.uint8)
    if isinstance(polygons, np.ndarray):
        corners = np.rint(polygons).astype(np.int32)
    else:
        corners = [np.rint(polygon).astype(np.int32) for polygon in polygons]
    for polygon in corners:
        cv2.fillPoly(image, [polygon], 1)
    return image.astype(bool)


def outer_contours(mask):
    """The outer boundaries of the regions of a mask, (k, 2) pixels each, the largest area first."""
    contours, _ = cv2.findContours(mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    return [c[:, 0, :].astype(float) for c in sorted(contours, key=cv2.contourArea, reverse=True)]


def fill_notches(mask, radius):
    """A mask without holes and notches narrower than 2 radius + 1 pixels."""
    return cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_CLOSE, _disc(radius)).astype(bool)


def cut_spurs(mask, radius):
    """A mask without spurs and islands narrower than 2 radius + 1 pixels."""
    return cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_OPEN, _disc(radius)).astype(bool)


def simplify_polygon(polygon, tolerance):
    """The polygon (k, 2) with fewer corners, nowhere further than `tolerance` pixels from it (Douglas-
    Peucker).
    """
    return cv2.approxPolyDP(polygon.astype(np.float32), tolerance, True)[:, 0, :].astype(float)


def convex_hull(xy):
    """Corners (k, 2) of the convex hull of points (n, 2)."""
    return cv2.convexHull(xy.astype(np.float32))[:, 0, :].astype(float)


def dilate(mask, radius):
    """A mask grown by `radius` pixels."""
    return cv2.dilate(mask.astype(np.uint8), _disc(radius)).astype(bool)


def mix_channels(rgb, mix, offset):
    """(h, w, 3) uint8: each pixel p of a picture as mix p + offset, rounded; mix is (3, 3)."""
    return cv2.transform(rgb, np.column_stack([mix, np.full(3, offset)]).astype(np.float32))


def blend(image, other, weight):
    """(h, w, 3) uint8: `image`, with `weight` of the way to `other`."""
    return cv2.addWeighted(image, 1 - weight, other, weight, 0)


def draw_line(image, start, end, colour, thickness):
    """Draw an antialiased line into (h, w, 3) uint8, in place; ends in pixels."""
    cv2.line(image, *_subpixel(start, end), colour, thickness, cv2.LINE_AA, 4)


def draw_polygon(image, polygon, colour, thickness):
    """Draw a closed polygon (k, 2) into (h, w, 3) uint8, in place."""
    points = np.rint(np.asarray(polygon) * 16).astype(np.int32)
    cv2.polylines(image, [points], True, colour, thickness, cv2.LINE_AA, 4)


def draw_disc(image, centre, radius, colour):
    """Draw a filled disc into (h, w, 3) uint8, in place."""
    cv2.circle(image, *_subpixel(centre), round(radius * 16), colour, -1, cv2.LINE_AA, 4)


def label_size(text, scale):
    """Width and height of the box that `draw_label` draws."""
    (width, height), pad, *_ = _measured(text, scale)
    return width + 2 * pad, height + 2 * pad


def _measured(text, scale):
    """Size of a text, width of the rim around it, font, thickness."""
    font, thickness = cv2.FONT_HERSHEY_SIMPLEX, max(round(2 * scale), 1)
    size, _base = cv2.getTextSize(text, font, scale, thickness)
    return size, round(7 * scale), font, thickness


def draw_label(image, text, centre, colour, ink, scale):
    """Write text on a filled box, centred, in place."""
    (width, height), pad, font, thickness = _measured(text, scale)
    x, y = round(centre[0] - width / 2), round(centre[1] + height / 2)
    cv2.rectangle(image, (x - pad, y - height - pad), (x + width + pad, y + pad), colour, -1, cv2.LINE_AA)
    cv2.putText(image, text, (x, y), font, scale, ink, thickness, cv2.LINE_AA)


def encode_png(rgb, *, overwrite=False):
    """PNG file content of an (h, w, 3) uint8 RGB picture, which `overwrite` allows to change on the way."""
    if overwrite:
        cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR, rgb)
    ok, data = cv2.imencode(".png", rgb if overwrite else rgb[:, :, ::-1])
    if not ok:
        raise RuntimeError(f"OpenCV could not encode a picture of shape {rgb.shape}")
    return data.tobytes()


def _subpixel(*points):
    return tuple(tuple(round(c * 16) for c in p) for p in points)


def _disc(radius):
    return cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * radius + 1, 2 * radius + 1))
