"""Which of several alike pictures a place shows: the one whose windows explain those of the place.

The pictures and the place are stretched to squares. A window of a picture may move, and has a gain and white
added to it, so that windows in glare speak for no picture. Lengths are pixels of the square.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from matching._common import opencv
from matching._common.types import Bools, Float32s, Floats
from matching.agreement.grid import Ends, cut_level, find_seen, list_places, to_grey
from matching.agreement.windows import NOISE_VARIANCE
from matching.objects.frames import list_corners
from matching.objects.transforms import apply_transform, fit_corners
from matching.pictures.images import Picture

# The numbers below were chosen on six tables with drawn cards (seeds 0 to 5), and on 72 phone photographs of
# film covers whose references had rivals that were altered in one place.
SIDE = 144  # pixels: at 96, twice as many altered prints are mistaken
WINDOW = 9  # pixels, the side of a window; with 7, one more of 216 altered prints is mistaken
REACH = 2  # pixels by which a window is free to move, as frames are not exact; 3 blurs the marks of cards
BLUR = 1.5  # pixels, standard deviation: pictures that are not equally sharp become alike
EDGE = 7  # pixels along the border that do not count: corners may be round, and frames are not exact
# The light of a window over that of the whole, at most; at 2 and at 5, one more altered print is mistaken.
MAX_GAIN = 3.0
PRINT_VARIANCE = 40.0  # of colours: windows with less are plain
MAX_SHARE = 0.1  # of the variance of a window, left unexplained by the same print
ALIKE_STEP = 2  # pixels between those that tell whether pictures are alike, which needs no detail
PLACE = 13  # pixels, the side of a place where another picture may explain more: a mark of a card


@dataclass(frozen=True, eq=False)
class Square:
    """A place, stretched to a square: colours (n, n, 3) float32, and where it shows anything."""

    colours: Float32s
    seen: Bools

    @property
    def turned(self) -> Square:
        """The same, turned by half a turn."""
        return Square(np.ascontiguousarray(self.colours[::-1, ::-1]), self.seen[::-1, ::-1])

    @property
    def coarse(self) -> Square:
        """The same in grey, with every ALIKE_STEP-th pixel."""
        grey = opencv.gaussian_blur(to_grey(self.colours), BLUR)[::ALIKE_STEP, ::ALIKE_STEP]
        return Square(np.repeat(grey[..., None], 3, axis=2), self.seen[::ALIKE_STEP, ::ALIKE_STEP])


@dataclass(frozen=True, eq=False)
class Explanation:
    """What a picture leaves unexplained of the windows of a place.

    Parameters
    ----------
    rest : (h, w) float32
        The variance of colours that is left.
    whole : (h, w) float32
        The variance of the window, or of the one that explains it if that is larger.
    seen : (h, w) bool
        Where both show something.
    """

    rest: Float32s
    whole: Float32s
    seen: Bools

    @property
    def cost(self) -> float:
        """The mean logarithm of what is left; the difference of two costs is evidence per window."""
        return float(np.log(self.rest + NOISE_VARIANCE)[self.seen].mean()) if self.seen.any() else math.inf

    @property
    def unexplained(self) -> float:
        """The share of the variance of all print that is left; 0 without print."""
        use = self.seen & (self.whole > PRINT_VARIANCE)
        return float(self.rest[use].sum() / max(self.whole[use].sum(), 1.0))

    @property
    def alikeness(self) -> float:
        """The share of the print that is the same; 0 without print."""
        use = self.seen & (self.whole > PRINT_VARIANCE)
        is_same = self.rest < MAX_SHARE * (self.whole + PRINT_VARIANCE)
        return float(is_same[use].sum() / max(use.sum(), 1))

    def compare(self, other: Explanation) -> float:
        """How clearly another one explains some place better, over how clearly this one does."""
        ratio = np.log((other.rest + NOISE_VARIANCE) / (self.rest + NOISE_VARIANCE))
        evidence = opencv.box_mean(ratio, PLACE)[self.seen & other.seen]
        return float(-evidence.min(initial=0) / max(evidence.max(initial=0), 1e-6))


def cut_square(picture: Picture, frame: Floats) -> Square:
    """Stretch the place in a frame (4, 2) to a square."""
    places = list_places(np.full(2, -0.5), 1.0, 1, (SIDE, SIDE))
    corners = list_corners(np.array([[-0.5, -0.5], [SIDE - 0.5, SIDE - 0.5]]))
    xy = apply_transform(fit_corners(corners, frame), places.reshape(-1, 2)).reshape(places.shape)
    pitch = math.sqrt(max(opencv.polygon_area(frame), 1.0)) / SIDE
    colours = cut_level(picture.rgb, xy.astype(np.float32), pitch).sample(xy.astype(np.float32))
    return Square(colours, find_seen(Ends(picture.rgb, frame, picture.mask), xy))


def explain(thing: Square, place: Square) -> Explanation:
    """Explain the windows of a place by those of a thing, inside EDGE."""
    inner = np.s_[EDGE:-EDGE, EDGE:-EDGE]
    b, mean1, variance1 = _measure(place.colours[inner])
    a, mean0, variance0 = (
        np.pad(values, [(REACH, REACH)] * 2 + [(0, 0)] * (values.ndim - 2), "edge")
        for values in _measure(_relight(thing.colours[inner], place.colours[inner]))
    )
    rest, whole = np.full(variance1.shape, np.inf, np.float32), variance1
    for y, x in np.ndindex(2 * REACH + 1, 2 * REACH + 1):
        moved = np.s_[y : y + len(b), x : x + len(b)]
        product = np.einsum("ijk,ijk->ij", b, a[moved]) / np.float32(3)
        common = opencv.box_mean(product, WINDOW) - mean1 * mean0[moved]
        gain = np.clip(common / (variance0[moved] + 1e-3), 1 / MAX_GAIN, MAX_GAIN)
        lit = gain * gain * variance0[moved]
        left = np.maximum(variance1 - 2 * gain * common + lit, 0)
        whole = np.where(left < rest, np.maximum(variance1, lit), whole)
        rest = np.minimum(left, rest)
    return Explanation(rest, whole, (thing.seen & place.seen)[inner])


def _measure(colours: Float32s) -> tuple[Float32s, Float32s, Float32s]:
    """Blur colours (h, w, 3); also the mean and the variance (h, w) of the window around each pixel."""
    blurred = opencv.gaussian_blur(colours, BLUR)
    mean = to_grey(opencv.box_mean(blurred, WINDOW))
    return blurred, mean, np.maximum(to_grey(opencv.box_mean(blurred**2, WINDOW)) - mean**2, 0)


def _relight(a: Float32s, b: Float32s) -> Float32s:
    """A in the light of B (n, n, 3), which changes evenly."""
    x, y = np.meshgrid(*2 * [np.linspace(-1, 1, len(a), dtype=np.float32)])
    planes, lit = np.stack([np.ones_like(x), x, y], axis=2), np.empty_like(a)
    for channel in range(3):
        rows = (a[..., channel, None] * planes).reshape(-1, 3)
        gains = np.linalg.solve(rows.T @ rows + np.eye(3), rows.T @ b[..., channel].ravel())
        lit[..., channel] = (rows @ gains).reshape(x.shape)
    return lit
