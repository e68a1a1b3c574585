"""Whole frames that nearly coincide, registered as wholes, without features: Fourier-Mellin and ECC.

The amplitude of a spectrum does not depend on shifts, and turns and scales with the picture: on a grid of
angles and logarithms of frequencies, a turn and a scale are a shift, which phase correlation finds (Reddy and
Chatterji, IEEE Trans. Image Processing 1996). Then it finds the shift of the pictures, and the enhanced
correlation coefficient refines an affine map (Evangelidis and Psarakis, IEEE Trans. PAMI 2008).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from matching._common import opencv
from matching._common.once import once
from matching._common.types import Array, Bools, Float32s, Floats
from matching.objects.transforms import apply_transform
from matching.pictures.images import Picture
from matching.searches.pixels.equality import list_equal, split_squares
from matching.searches.proposals import Listing

SIDE = 384  # pixels of the square in which frames are registered
N_ANGLES, N_RADII = 180, 192  # of a spectrum: angles of half a turn, and logarithms of frequencies
FLAT = 12.0  # pixels, standard deviation: slower changes of grey values are light
LOW_FREQUENCY = 20.0  # cycles a side: lower ones count less, because they are the frame's
MAX_TURN, MAX_SCALE = 25.0, 1.5  # degrees, ratio: frames that differ by more do not nearly coincide
# Correlation of frames that are registered to some pixels, at least. Of 152 pairs of boards, photographs,
# drawings and screens, as they are or turned by 3 to 12 degrees, 147 have .32 and more. Of 9,456 pairs of
# strangers, one has .43, and the others at most .23.
MIN_CORRELATION_AT_START = 0.3
# Pixels of the sides of squares that are compared. Those with this variance of grey values, at least, show
# print, and so many of them tell whether frames are alike.
SQUARE, MIN_VARIANCE, MIN_SQUARES = 16, 25.0, 30
# Likeness that three quarters of these squares have, at least. Of 76 pairs with altered places, 72 have .61
# and more as they are, and 70 turned. Different pages of the same markers, icons, staves or rows have .54 and
# less.
MIN_LIKENESS, QUARTILE = 0.57, 0.25
# Independent places of a frame, at least: chance correlates them by their root. No record of a choice.
N_INDEPENDENT = 100
LOG_TRIED = 5.0  # log10 of the maps that registration tries
MIN_COMMON = 0.5  # of the smaller picture that the other one shows, at least
NEARLY_EQUAL = 0.99  # likeness, at most: reduced pictures don't tell whether all pixels are equal
LATTICE = 16  # points along each side of the frame that stand for matches


def find_whole_frame(first: Frame, second: Frame) -> Listing | None:
    """Register the frames of two pictures as wholes; None if they do not nearly coincide."""
    start = register_frames(first, second)
    if start is None:
        return None
    motion, sign = start
    use = first.inner & (
        opencv.warp_affine(second.inner.astype(np.float32), np.linalg.inv(motion).astype(float)) > 0.99
    )
    refined = opencv.refine_affine(first.square, sign * second.square, motion, use)
    if refined is None:
        return None
    likeness = _compare_squares(first, second, refined, sign)
    if likeness < MIN_LIKENESS:
        return None
    log_nfa = LOG_TRIED - N_INDEPENDENT * likeness**2 / 2 * math.log10(math.e)
    places = _list_places(first, second, refined)
    found = list_equal([places], [log_nfa], [min(likeness, NEARLY_EQUAL)])
    return replace(found, proposals=(replace(found.proposals[0], negative=1 if sign < 0 else None),))


@dataclass(frozen=True, eq=False)
class Frame:
    """A picture in a square of SIDE pixels, and its spectrum."""

    picture: Picture

    @once
    def to_square(self) -> Floats:
        """The map (3, 3) from pixels of the picture to those of the square."""
        factor = SIDE / float(self.picture.size.max())
        shift = (factor - 1) / 2  # the pixels' outer edges are laid on each other
        return np.array([[factor, 0, shift], [0, factor, shift], [0, 0, 1]])

    @once
    def _size(self) -> tuple[int, int]:
        """Height and width of the picture in the square."""
        height, width = (max(round(n * self.to_square[0, 0]), 1) for n in self.picture.grey.shape)
        return height, width

    @once
    def shown(self) -> Bools:
        """Where the square shows the picture, and what its mask shows (SIDE, SIDE)."""
        (height, width), mask = self._size, self.picture.mask
        shown = np.zeros((SIDE, SIDE), bool)
        shown[:height, :width] = True
        if mask is not None:
            shown[:height, :width] = opencv.resize_area(mask.astype(np.uint8), width, height) > 0
        return shown

    @once
    def square(self) -> Float32s:
        """Grey values (SIDE, SIDE) without slow changes; 0 beyond the picture and what its mask shows."""
        height, width = self._size
        small = opencv.resize_area(self.picture.grey, width, height).astype(np.float32)
        square = np.zeros((SIDE, SIDE), np.float32)
        square[:height, :width] = small - opencv.gaussian_blur(small, FLAT)
        return square * self.shown

    @once
    def strength(self) -> Float32s:
        """How much print there is (SIDE, SIDE), dark or bright, so that a negative has the same."""
        return np.abs(self.square)

    @once
    def inner(self) -> Bools:
        """What the end of the picture, or of its mask, does not reach (SIDE, SIDE).

        With all of it, turned boards on a ground of one colour were registered to within .2 to 17 pixels at
        their corners; with this, to within .3.
        """
        return opencv.erode(np.pad(self.shown, 1), 4 * int(FLAT) + 1)[1:-1, 1:-1]

    @once
    def spectrum(self) -> Float32s:
        """Amplitudes by the angle and the logarithm of the frequency (N_ANGLES, N_RADII)."""
        amplitude = np.abs(np.fft.fftshift(np.fft.fft2(self.square * opencv.make_window(SIDE, SIDE))))
        y, x = np.indices((SIDE, SIDE)) - SIDE // 2
        radius = np.hypot(x, y)
        weight = np.clip(radius / LOW_FREQUENCY, 0, 1) * (radius < SIDE / 2)
        logarithms = (np.log1p(amplitude) * weight).astype(np.float32)
        return opencv.to_log_polar(logarithms, 2 * N_ANGLES, N_RADII)[:N_ANGLES]


def register_frames(first: Frame, second: Frame) -> tuple[Floats, int] | None:
    """The motion (3, 3) between two squares, to some pixels, and -1 if one is in negative, or else 1.

    None if the frames do not nearly coincide.
    """
    motions = [np.eye(3), *_find_turn(first, second)]
    correlations = [_correlate_moved(first, second, motion) for motion in motions]
    best = int(np.argmax(np.abs(correlations)))
    is_near = abs(correlations[best]) >= MIN_CORRELATION_AT_START
    return (motions[best], 1 if correlations[best] > 0 else -1) if is_near else None


def _find_turn(first: Frame, second: Frame) -> list[Floats]:
    """The similarity (3, 3) between two squares that their spectra tell, if it is a small one."""
    along, across = opencv.phase_correlate(first.spectrum, second.spectrum)
    turn, scale = across * 180 / N_ANGLES, math.exp(-along * math.log(SIDE / 2) / N_RADII)
    if abs(turn) > MAX_TURN or abs(math.log(scale)) > math.log(MAX_SCALE):
        return []
    angle, centre = math.radians(turn), (SIDE - 1) / 2
    linear = scale * np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    motion = np.eye(3)
    motion[:2, :2], motion[:2, 2] = linear, centre - linear @ [centre, centre]
    motion[:2, 2] += opencv.phase_correlate(opencv.warp_affine(first.strength, motion), second.strength)
    return [motion]


def _correlate_moved(first: Frame, second: Frame, motion: Floats) -> float:
    """The correlation of what two squares show after a motion (3, 3); 0 if that is too little."""
    common = second.shown & (opencv.warp_affine(first.shown.astype(np.float32), motion) > 0.99)
    if common.sum() <= MIN_COMMON * min(first.shown.sum(), second.shown.sum()):
        return 0.0
    return _correlate(opencv.warp_affine(first.square, motion)[common], second.square[common])


def _compare_squares(first: Frame, second: Frame, motion: Floats, sign: int) -> float:
    """The lower quartile of the likeness of squares with print; 0 if there are too few.

    The likeness of two squares is their covariance in one contrast, over the larger of their variances.
    """
    common = second.inner & (opencv.warp_affine(first.inner.astype(np.float32), motion) > 0.99)
    is_whole = split_squares(common, SQUARE).all(axis=(1, 3))
    images = opencv.warp_affine(first.square, motion), sign * second.square
    a, b = (split_squares(image, SQUARE).swapaxes(1, 2)[is_whole].reshape(-1, SQUARE**2) for image in images)
    is_print = np.maximum(a.var(axis=1), b.var(axis=1)) > MIN_VARIANCE
    if is_print.sum() < MIN_SQUARES:
        return 0.0
    a, b = (each[is_print] - each[is_print].mean(axis=1, keepdims=True) for each in (a, b))
    b *= a.std() / max(float(b.std()), 1e-9)
    likeness = (a * b).mean(axis=1) / np.maximum(a.var(axis=1), b.var(axis=1))
    return float(np.quantile(likeness, QUARTILE))


def _list_places(first: Frame, second: Frame, motion: Floats) -> tuple[Floats, Floats]:
    """Points (n, 2) of a lattice in the common part of two pictures; motion (3, 3): that of their squares."""
    to_second = np.linalg.inv(second.to_square) @ motion @ first.to_square
    xy0 = (np.indices((LATTICE, LATTICE)).reshape(2, -1).T + 0.5) / LATTICE * first.picture.size - 0.5
    xy1 = apply_transform(to_second, xy0)
    is_common = ((xy1 >= -0.5) & (xy1 <= second.picture.size - 0.5)).all(axis=1)
    return xy0[is_common], xy1[is_common]


def _correlate(a: Array, b: Array) -> float:
    """The correlation of two samples (n,); 0 if one of them does not vary."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.nan_to_num(np.corrcoef(a, b)[0, 1]))
