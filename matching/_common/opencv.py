"""The only module that uses OpenCV: plain arrays in, plain arrays out.

Points are (x, y) pixels, (0, 0) the centre of the top-left pixel.
"""

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from matching._common.types import Array, Bools, Float32s, Floats, Ints

VERSION = cv2.__version__
CPU_FEATURES = cv2.getCPUFeaturesLine()  # the instruction sets for which OpenCV has code
BUILD = cv2.getBuildInformation()
Point = Sequence[float] | Array  # (2,) x, y


def set_threads(n: int) -> int:
    """Let OpenCV use this number of threads, and return the previous number."""
    before = cv2.getNumThreads()
    cv2.setNumThreads(n)
    return before


def gaussian_blur(image: Array, sigma: float) -> Array:
    """Smooth an image by a Gaussian: image (h, w) -> (h, w)."""
    return cv2.GaussianBlur(image, (0, 0), sigma, borderType=cv2.BORDER_REPLICATE)


def wide_blur(image: Array, sigma: float) -> Array:
    """Smooth an image (h, w) or (h, w, c) by a window that is nearly Gaussian, as fast for any width."""
    radius = round(math.sqrt(1 + 6 * sigma * sigma) - 1)  # the weights form a pyramid of this variance
    return cv2.stackBlur(image, (2 * radius + 1, 2 * radius + 1))


def coarse_blur(image: Array, sigma: float) -> Array:
    """Smooth an image (h, w) or (h, w, c) by a Gaussian, on a grid of 1.5 pixels per sigma."""
    height, width = image.shape[:2]
    factor = int(sigma / 1.5) + 1
    small = resize_area(image, -(-width // factor), -(-height // factor))
    return enlarge(gaussian_blur(small, sigma / factor), width, height)


def enlarge(image: Array, width: int, height: int) -> Array:
    """Enlarge an image (h, w) or (h, w, c) to a size, bilinear."""
    return cv2.resize(image, (width, height), interpolation=cv2.INTER_LINEAR)


def gradient(image: Array) -> Array:
    """The length of the gradient: image (h, w) float32 -> (h, w), per pixel."""
    dx, dy = (cv2.Sobel(image, cv2.CV_32F, *order, scale=1 / 8) for order in ((1, 0), (0, 1)))
    return cv2.magnitude(dx, dy)


def neighbourhood_limits(image: Array) -> tuple[Array, Array]:
    """Find the highest and lowest of the 3 x 3 pixels around each pixel: image (h, w) -> (h, w), (h, w)."""
    square = np.ones((3, 3), np.uint8)
    return cv2.dilate(image, square), cv2.erode(image, square)


@contextmanager
def _silence() -> Iterator[None]:
    """Keep OpenCV from reporting damage in several lines on standard error."""
    log = cv2.utils.logging if hasattr(cv2.utils, "logging") else cv2  # moved in 4.13
    level = log.getLogLevel()
    log.setLogLevel(0)
    try:
        yield
    finally:
        log.setLogLevel(level)


def read_deep(file: Path | bytes) -> Array | None:
    """Read a picture at its full bit depth -> (h, w[, 3 or 4]) or None; only TIFFs are turned upright."""
    content = np.frombuffer(file, np.uint8) if isinstance(file, bytes) else np.fromfile(file, np.uint8)
    try:
        with _silence():
            image = cv2.imdecode(content, cv2.IMREAD_UNCHANGED)
    except cv2.error:
        return None
    if image is None or image.ndim == 2:
        return image
    return image[:, :, ::-1] if image.shape[2] == 3 else image[:, :, [2, 1, 0, 3]]


class VideoReader:
    """A video file, read upright by FFmpeg; `n_frames` and `rate` (per second) come from the header."""

    def __init__(self, path: Path) -> None:
        os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", "-8")  # quiet, because FFmpeg reports damage
        with _silence():  # the path is absolute, so that FFmpeg takes no name for a protocol
            self._capture = cv2.VideoCapture(str(path.absolute()), cv2.CAP_FFMPEG)
        self.is_open = bool(self._capture.isOpened())
        properties = (cv2.CAP_PROP_FRAME_WIDTH, cv2.CAP_PROP_FRAME_HEIGHT, cv2.CAP_PROP_FRAME_COUNT)
        self.width, self.height, self.n_frames = (max(int(self._capture.get(name)), 0) for name in properties)
        rate = float(self._capture.get(cv2.CAP_PROP_FPS))
        code = int(self._capture.get(cv2.CAP_PROP_FOURCC)).to_bytes(4, "little", signed=True)
        self.codec = code.decode("latin1").strip("\0 ").lower()
        self.rate = rate if math.isfinite(rate) and rate > 0 else 0.0

    def skip(self) -> float | None:
        """Go to the next frame and return its time in seconds, or None if there is none."""
        if not self._capture.grab():
            return None
        return float(self._capture.get(cv2.CAP_PROP_POS_MSEC)) / 1000

    def decode(self) -> Array | None:
        """Decode the frame to which `skip` went: (h, w, 3) uint8 RGB."""
        ok, image = self._capture.retrieve()
        return image[:, :, ::-1] if ok and image is not None and image.ndim == 3 else None

    def close(self) -> None:
        """Close the file."""
        self._capture.release()


def read_storage(path: Path) -> dict[str, Array] | None:
    """Read the matrices of a file that OpenCV's FileStorage wrote, or return None."""
    try:
        storage = cv2.FileStorage(str(path), cv2.FILE_STORAGE_READ)
        root = storage.root() if storage.isOpened() else None
        if root is None:
            return None
        nodes = [(name, root.getNode(name)) for name in root.keys()]  # noqa: SIM118 - not a dictionary
        matrices = [(name, node.mat()) for name, node in nodes if node.isMap()]
        return {name: np.asarray(matrix) for name, matrix in matrices if matrix is not None}
    except (cv2.error, SystemError):  # different damage raises different errors
        return None


def luma(rgb: Array) -> Array:
    """Compute the luma of a colour picture (ITU-R BT.601): rgb (h, w, 3) uint8 -> (h, w) uint8."""
    return cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY)


def histogram(grey: Array, mask: Bools | None = None) -> Floats:
    """Count the pixels of each grey value, within the mask: grey (h, w) uint8 -> (256,) float64."""
    weights = None if mask is None else mask.astype(np.uint8)
    return np.asarray(cv2.calcHist([grey], [0], weights, [256], [0, 256]).ravel(), np.float64)


def resize_area(image: Array, width: int, height: int) -> Array:
    """Reduce an image (h, w) or (h, w, c) to a size; each pixel is the mean of the area that it covers."""
    return cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA)


def resize(image: Array, factor: float) -> Array:
    """Resize an image (h, w) or (h, w, c) by a factor: bicubic to enlarge it, by area means to reduce it."""
    if factor == 1:
        return image
    size = tuple(max(round(n * factor), 1) for n in image.shape[1::-1])
    return cv2.resize(image, size, interpolation=cv2.INTER_CUBIC if factor > 1 else cv2.INTER_AREA)


def sample(image: Array, xy: Array) -> Array:
    """Sample image (h, w, 3) uint8 at xy (h1, w1, 2), bicubic -> (h1, w1, 3); edge pixels repeat outwards."""
    x, y = np.moveaxis(xy.astype(np.float32), 2, 0)
    return cv2.remap(image, x, y, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)


def tilt(image: Array, tilt: float, angle: float, antialiasing: float) -> tuple[Array, Array]:
    """Turn a picture (h, w) by `angle` radians and squeeze it along x -> view (h1, w1), its matrix (2, 3)."""
    c, s = np.cos(angle), np.sin(angle)
    height, width = image.shape
    corners = np.array([[0, 0], [width - 1, 0], [0, height - 1], [width - 1, height - 1]])
    turned = corners @ np.array([[c, s], [-s, c]])
    low = turned.min(axis=0)
    long, high = (np.ceil(turned.max(axis=0) - low).astype(int) + 1).tolist()
    # Means of whole pixels do most of the squeezing, so that the blur spans few pixels and is fast.
    whole = max(int(tilt / 2), 1)
    columns = -(-long // whole)
    turn = np.array([[c, -s, -low[0]], [s, c, -low[1]], [0, 0, 1]])
    view = cv2.warpAffine(image, turn[:2], (columns * whole, high), borderMode=cv2.BORDER_REPLICATE)
    if whole > 1:
        view = cv2.resize(view, (columns, high), interpolation=cv2.INTER_AREA)
    variance = antialiasing**2 * (tilt**2 - 1) - (whole**2 - 1) / 12  # a mean of n pixels also blurs
    if variance > 0:
        sigma = np.sqrt(variance) / whole
        view = cv2.GaussianBlur(view, (0, 1), sigmaX=sigma, sigmaY=1, borderType=cv2.BORDER_REPLICATE)
    squeeze = np.array([[1 / tilt, 0, 0], [0, 1, 0], [0, 0, 1]])
    from_means = np.array([[whole, 0, (whole - 1) / 2], [0, 1, 0], [0, 0, 1]])  # to the turned picture
    size = int((long - 1) / tilt) + 1, high
    view = cv2.warpAffine(view, (squeeze @ from_means)[:2], size, borderMode=cv2.BORDER_REPLICATE)
    return view, (squeeze @ turn)[:2]


def warp_mask(mask: Array, matrix: Array, shape: tuple[int, int]) -> Array:
    """Warp a mask (h, w) bool by matrix (2, 3) to shape (h1, w1)."""
    warped = cv2.warpAffine(mask.astype(np.uint8), matrix, shape[::-1], flags=cv2.INTER_NEAREST)
    return np.asarray(warped.astype(bool))


def fit_homography(xy0: Array, xy1: Array, tolerance: float) -> Array | None:
    """Fit a homography robustly, by MAGSAC++: xy0, xy1 (n, 2) -> (3, 3) or None; tolerance in pixels."""
    if len(xy0) < 4:
        return None
    unit = _unit(tolerance)
    matrix, _ = cv2.findHomography(xy0 / unit, xy1 / unit, cv2.USAC_MAGSAC, maxIters=2000, confidence=0.999)
    if matrix is None or np.linalg.matrix_rank(matrix) < 3:
        return None
    scale = np.array([unit, unit, 1.0])
    homography: Array = matrix * scale[:, None] / scale
    return homography


def fit_affine(xy0: Array, xy1: Array, tolerance: float) -> Array | None:
    """Fit an affine map robustly, by RANSAC: xy0, xy1 (n, 2) -> (2, 3) or None; tolerance in pixels."""
    if len(xy0) < 3:
        return None
    unit = _unit(tolerance)
    matrix, _ = cv2.estimateAffine2D(xy0 / unit, xy1 / unit, method=cv2.RANSAC, maxIters=2000)
    return None if matrix is None else matrix * [1.0, 1.0, unit]


def _unit(tolerance: float) -> float:
    """Compute the unit, in pixels, in which the tolerance is 3, the default threshold of OpenCV's fits."""
    return tolerance / 3


def fit_fundamental(
    xy0: Array, xy1: Array, tolerance: float, trials: int = 2000
) -> tuple[Array | None, float]:
    """Fit a fundamental matrix by MAGSAC++ to xy0, xy1 (n, 2) -> ((3, 3) or None, share of inliers)."""
    if len(xy0) < 8:
        return None, 0.0
    try:
        matrix, inlier = cv2.findFundamentalMat(xy0, xy1, cv2.USAC_MAGSAC, tolerance, 0.999, trials)
    except cv2.error:  # no sample gives a matrix
        return None, 0.0
    if matrix is None or matrix.shape != (3, 3):
        return None, 0.0
    return matrix, float(inlier.mean())


def fill_polygons(shape: tuple[int, ...], polygons: Iterable[Array]) -> Bools:
    """Fill polygons (k, 2) -> (h, w) bool."""
    image = np.zeros(shape, np.uint8)
    for polygon in polygons:
        cv2.fillPoly(image, [np.rint(polygon).astype(np.int32)], 1)
    return image.astype(bool)


def convex_hull(xy: Array) -> Floats:
    """Compute the convex hull of points: xy (n, 2) -> (k, 2)."""
    return cv2.convexHull(xy.astype(np.float32))[:, 0, :].astype(float)


def sample_linear(image: Array, xy: Array) -> Array:
    """Sample image (h, w[, c]) float32 at xy (h1, w1, 2), bilinear; edge pixels repeat outwards."""
    x, y = np.moveaxis(xy.astype(np.float32), 2, 0)
    return cv2.remap(image, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)


def median_blur(image: Array, side: int) -> Array:
    """Compute the median of the square window around each pixel: image (h, w) float32 -> (h, w)."""
    return cv2.medianBlur(np.ascontiguousarray(image), side)


def box_mean(image: Array, side: int) -> Array:
    """Compute the mean of the square around each pixel: image (h, w) float32 -> (h, w), edges mirrored."""
    return cv2.boxFilter(image, -1, (side, side), borderType=cv2.BORDER_REFLECT_101)


def gradients(grey: Array) -> tuple[Array, Array]:
    """The changes across and along of an image (h, w) uint8, grey levels over two pixels -> (h, w) int16."""
    return cv2.Sobel(grey, cv2.CV_16S, 1, 0, ksize=1), cv2.Sobel(grey, cv2.CV_16S, 0, 1, ksize=1)


def largest_difference(first: Array, second: Array) -> Array:
    """The largest absolute difference of the channels: (h, w, 3) uint8 twice -> (h, w) uint8."""
    red, green, blue = cv2.split(cv2.absdiff(first, second))
    return cv2.max(cv2.max(red, green), blue)


def laplacian(image: Array) -> Array:
    """Compute the sum of the second derivatives: image (h, w) float32 -> (h, w)."""
    return cv2.Laplacian(image, cv2.CV_32F)


def optical_flow(grey0: Array, grey1: Array) -> Array:
    """Optical flow by dense inverse search: (h, w) uint8, both sides >= 64 -> (h, w, 2) float32, pixels."""
    search: Any = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_FAST)
    return np.asarray(search.calc(grey0, grey1, None))


def erode(mask: Bools, side: int) -> Bools:
    """Where a square window lies wholly in a mask (h, w), which counts as set beyond the edge."""
    return np.asarray(cv2.erode(mask.astype(np.uint8), np.ones((side, side), np.uint8)) > 0)


def dilate(mask: Bools, side: int) -> Bools:
    """Where a square window touches a mask (h, w)."""
    return np.asarray(cv2.dilate(mask.astype(np.uint8), np.ones((side, side), np.uint8)) > 0)


def mean_variance(image: Array, counts: Bools | None = None) -> float:
    """The variance of an image (h, w, 3), where counts (h, w) is set: the mean of the channels."""
    mask = None if counts is None else counts.astype(np.uint8)
    return float((cv2.meanStdDev(image, mask=mask)[1] ** 2).mean())


def box_components(mask: Bools) -> tuple[Ints, Ints]:
    """Number the connected components of a mask from 1 -> (h, w), boxes (n, 4): x, y, width, height."""
    _, labels, boxes, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8))
    return np.asarray(labels, np.int64), np.asarray(boxes[1:, :4], np.int64)


def box_max(image: Array, side: int) -> Array:
    """The highest value in the square around each pixel: image (h, w) float32 -> (h, w)."""
    return cv2.dilate(image, np.ones((side, side), np.uint8))


def extend_nearest(values: Bools, known: Bools) -> Bools:
    """The value at the nearest pixel (h, w) where values (h, w) are known (h, w); some must be."""
    unknown = (~known).astype(np.uint8)
    found = cv2.distanceTransformWithLabels(unknown, cv2.DIST_L2, 5, labelType=cv2.DIST_LABEL_PIXEL)
    labels = np.asarray(found[1])
    value_of_label = np.zeros(int(labels.max()) + 1, bool)
    value_of_label[labels[known]] = values[known]
    return np.asarray(value_of_label[labels])


def trace_outlines(mask: Bools) -> list[Floats]:
    """Find the outer outlines (k, 2) of all components of a mask (h, w)."""
    outlines = cv2.findContours(mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)[0]
    return [outline.reshape(-1, 2).astype(np.float64) for outline in outlines]


def trace_outline(mask: Bools) -> Floats:
    """Find the outer outline of the largest component of a mask (h, w) -> (k, 2); (0, 2) if it is empty."""
    return max(trace_outlines(mask), key=polygon_area, default=np.empty((0, 2)))


def measure_template(image: Array, template: Array, counts: Bools | None = None) -> Float32s:
    """The mean squared difference of a template (h, w, 3) and each place of an image (h + m, w + n, 3).

    counts (h, w): where the template counts; by default, everywhere.
    """
    image, template = np.ascontiguousarray(image), np.ascontiguousarray(template)
    mask = None if counts is None else counts.astype(np.uint8)
    n = template.size if counts is None else 3 * max(int(counts.sum()), 1)
    return np.asarray(cv2.matchTemplate(image, template, cv2.TM_SQDIFF, mask=mask), np.float32) / np.float32(
        n
    )


def correlate_template(image: Array, template: Array) -> Array:
    """Correlate a template (h, w) with all places of an image (h + m, w + n) -> (m + 1, n + 1)."""
    return cv2.matchTemplate(
        np.ascontiguousarray(image), np.ascontiguousarray(template), cv2.TM_CCOEFF_NORMED
    )


def cross_correlate(image: Array, template: Array) -> Array:
    """Sum the products of a template (h, w) and all places of an image (h + m, w + n) -> (m + 1, n + 1)."""
    return cv2.matchTemplate(np.ascontiguousarray(image), np.ascontiguousarray(template), cv2.TM_CCORR)


def make_window(height: int, width: int) -> Array:
    """Hanning's window (h, w) float32, which falls to 0 at the edges."""
    return cv2.createHanningWindow((width, height), cv2.CV_32F)


def phase_correlate(first: Array, second: Array) -> Floats:
    """The shift (2,) from one image to another, (h, w) float32."""
    first, second = (np.ascontiguousarray(image - image.mean()) for image in (first, second))
    return np.array(cv2.phaseCorrelate(first, second, make_window(*first.shape))[0])


def to_log_polar(image: Array, n_angles: int, n_radii: int) -> Array:
    """Sample a square image by the angle and the logarithm of the radius around its centre -> (a, r)."""
    side = len(image)
    centre = side / 2, side / 2
    return cv2.warpPolar(image, (n_radii, n_angles), centre, side / 2, cv2.WARP_POLAR_LOG + cv2.INTER_LINEAR)


def warp_affine(image: Array, motion: Floats) -> Array:
    """Move an image (h, w) by an affine map (3, 3), on the same canvas; 0 beyond it."""
    return cv2.warpAffine(image, motion[:2], image.shape[1::-1])


def refine_affine(first: Array, second: Array, motion: Floats, use: Array) -> Floats | None:
    """Refine an affine map (3, 3) between images (h, w) float32, by what lies in use (h, w) of the first one.

    None if they correlate too little.
    """
    inverse = np.linalg.inv(motion)[:2].astype(np.float32)  # ECC maps the second image to the first one
    stop = cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_COUNT, 60, 1e-5
    mask = use.astype(np.uint8)
    try:
        _, found = cv2.findTransformECC(second, first, inverse, cv2.MOTION_AFFINE, stop, mask, 5)
    except cv2.error:
        return None
    return np.linalg.inv(np.vstack([found, [0, 0, 1]]).astype(np.float64))


def fast_length(n: int) -> int:
    """The next length, at least n, for which the Fourier transform is fast."""
    return int(cv2.getOptimalDFTSize(n))


def polygon_area(polygon: Array) -> float:
    """Compute the area of a polygon (k, 2)."""
    return float(cv2.contourArea(polygon.astype(np.float32)))


def mix_channels(rgb: Array, mix: Array, offset: float) -> Array:
    """Map the colours of a picture by an affine map: rgb (h, w, 3) uint8; mix (3, 3) -> (h, w, 3) uint8."""
    return cv2.transform(rgb, np.column_stack([mix, np.full(3, offset)]).astype(np.float32))


def blend(image: Array, other: Array, weight: float) -> Array:
    """Blend two pictures: image, other (h, w, 3) uint8 -> (h, w, 3) uint8."""
    return cv2.addWeighted(image, 1 - weight, other, weight, 0)


def draw_line(image: Array, start: Point, end: Point, colour: Sequence[int], thickness: int) -> None:
    """Draw an antialiased line into a picture, in place: image (h, w, 3) uint8; start, end (2,)."""
    cv2.line(image, _subpixel(start), _subpixel(end), colour, thickness, cv2.LINE_AA, 4)


def draw_polygon(image: Array, polygon: Array, colour: Sequence[int], thickness: int) -> None:
    """Draw a closed antialiased polygon into a picture, in place: image (h, w, 3) uint8; polygon (k, 2)."""
    points = np.rint(np.asarray(polygon) * 16).astype(np.int32)
    cv2.polylines(image, [points], True, colour, thickness, cv2.LINE_AA, 4)


def draw_disc(image: Array, centre: Sequence[float] | Array, radius: float, colour: Sequence[int]) -> None:
    """Draw a filled disc into a picture, in place: image (h, w, 3) uint8; centre (2,)."""
    cv2.circle(image, _subpixel(centre), round(radius * 16), colour, -1, cv2.LINE_AA, 4)


def encode_png(pixels: Array) -> bytes:
    """Encode a picture as PNG: pixels (h, w, 3 or 4) uint8."""
    ok, data = cv2.imencode(".png", pixels[:, :, [2, 1, 0, 3][: pixels.shape[2]]])
    if not ok:
        raise RuntimeError(f"OpenCV could not encode a picture of shape {pixels.shape}")
    return data.tobytes()


def _subpixel(point: Point) -> tuple[int, int]:
    """Convert a point to sixteenths of a pixel, which OpenCV draws with a shift of 4 bits."""
    x, y = point
    return round(x * 16), round(y * 16)
