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
from matching._common.types import Array, Float32s, Floats
from matching.objects.transforms import apply_transform
from matching.pictures.images import Picture
from matching.searches.pixels.equality import list_equal
from matching.searches.proposals import Listing

SIDE = 384  # pixels of the square in which frames are registered
N_ANGLES, N_RADII = 180, 192  # of a spectrum: angles of half a turn, and logarithms of frequencies
FLAT = 12.0  # pixels, standard deviation: slower changes of grey values are light
LOW_FREQUENCY = 20.0  # cycles a side: lower ones count less, because they are the frame's
MAX_TURN, MAX_SCALE = 25.0, 1.5  # degrees, ratio: frames that differ by more do not nearly coincide
# Of the phase correlations of spectra, and of pictures. Of 31 pairs of boards, photographs, drawings and
# screens that were turned by 3 to 12 degrees, 28 have .2 and more; of 28 strangers, none has more than .07.
MIN_SPECTRUM_RESPONSE, MIN_RESPONSE = 0.15, 0.2
# Of registered frames without slow changes, in their common part. These 28 have .65 and more, also where
# something was altered, and strangers at most .36.
MIN_CORRELATION = 0.6
# Independent places of a frame, at least: chance correlates them by their root. No record of a choice.
N_INDEPENDENT = 100
LOG_TRIED = 5.0  # log10 of the maps that registration tries
MIN_COMMON = 0.5  # of the smaller frame that the other one shows, at least
NEARLY_EQUAL = 0.99  # likeness, at most: reduced pictures don't tell whether all pixels are equal
LATTICE = 16  # points along each side of the frame that stand for matches


def find_whole_frame(first: Frame, second: Frame) -> Listing | None:
    """Register the frames of two pictures as wholes; None if they do not nearly coincide."""
    motion = register_frames(first, second)
    if motion is not None:
        motion = opencv.refine_affine(first.strength, second.strength, motion)
    if motion is None:
        return None
    xy0, xy1, correlation, of_strengths = compare_frames(first, second, motion)
    is_negative = correlation < -MIN_CORRELATION / 2
    likeness = of_strengths if is_negative else correlation
    if likeness < MIN_CORRELATION:
        return None
    log_nfa = LOG_TRIED - N_INDEPENDENT * likeness**2 / 2 * math.log10(math.e)
    found = list_equal([(xy0, xy1)], [log_nfa], [min(likeness, NEARLY_EQUAL)])
    return replace(found, proposals=(replace(found.proposals[0], negative=1 if is_negative else None),))


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
    def square(self) -> Float32s:
        """Grey values (SIDE, SIDE) without slow changes; 0 beyond the picture and what its mask shows."""
        grey, mask = self.picture.grey, self.picture.mask
        height, width = (max(round(n * self.to_square[0, 0]), 1) for n in grey.shape)
        small = opencv.resize_area(grey, width, height).astype(np.float32)
        square = np.zeros((SIDE, SIDE), np.float32)
        square[:height, :width] = small - opencv.gaussian_blur(small, FLAT)
        if mask is not None:
            square[:height, :width] *= opencv.resize_area(mask.astype(np.uint8), width, height)
        return square

    @once
    def strength(self) -> Float32s:
        """How much print there is (SIDE, SIDE), dark or bright, so that a negative has the same."""
        return np.abs(self.square)

    @once
    def spectrum(self) -> Float32s:
        """Amplitudes by the angle and the logarithm of the frequency (N_ANGLES, N_RADII)."""
        amplitude = np.abs(np.fft.fftshift(np.fft.fft2(self.square * opencv.make_window(SIDE, SIDE))))
        y, x = np.indices((SIDE, SIDE)) - SIDE // 2
        radius = np.hypot(x, y)
        weight = np.clip(radius / LOW_FREQUENCY, 0, 1) * (radius < SIDE / 2)
        logarithms = (np.log1p(amplitude) * weight).astype(np.float32)
        return opencv.to_log_polar(logarithms, 2 * N_ANGLES, N_RADII)[:N_ANGLES]


def register_frames(first: Frame, second: Frame) -> Floats | None:
    """The similarity (3, 3) between the squares of two frames; None if they do not nearly coincide."""
    (along, across), response = opencv.phase_correlate(first.spectrum, second.spectrum)
    turn, scale = across * 180 / N_ANGLES, math.exp(-along * math.log(SIDE / 2) / N_RADII)
    if response < MIN_SPECTRUM_RESPONSE or abs(turn) > MAX_TURN or abs(math.log(scale)) > math.log(MAX_SCALE):
        return None
    angle, centre = math.radians(turn), (SIDE - 1) / 2
    linear = scale * np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    motion = np.eye(3)
    motion[:2, :2], motion[:2, 2] = linear, centre - linear @ [centre, centre]
    moved = opencv.warp_affine(first.strength, motion)
    shift, response = opencv.phase_correlate(moved, second.strength)
    motion[:2, 2] += shift
    return motion if response >= MIN_RESPONSE else None


def compare_frames(first: Frame, second: Frame, motion: Floats) -> tuple[Floats, Floats, float, float]:
    """Compare the common part of two frames after a motion (3, 3) of their squares.

    Returns points (n, 2) of a lattice in both pictures, and the correlations of grey values and of strengths.
    """
    to_second = np.linalg.inv(second.to_square) @ motion @ first.to_square
    steps = (np.indices((LATTICE, LATTICE)).reshape(2, -1).T + 0.5) / LATTICE
    xy0 = steps * first.picture.size - 0.5
    xy1 = apply_transform(to_second, xy0)
    is_common = ((xy1 >= -0.5) & (xy1 <= second.picture.size - 0.5)).all(axis=1)
    common = (opencv.warp_affine((first.strength > 0).astype(np.float32), motion) > 0.99) & (
        second.strength > 0
    )
    if is_common.mean() < MIN_COMMON or not common.any():
        return xy0, xy1, 0.0, 0.0
    greys, strengths = (
        (opencv.warp_affine(one, motion)[common], other[common])
        for one, other in ((first.square, second.square), (first.strength, second.strength))
    )
    return xy0[is_common], xy1[is_common], _correlate(*greys), _correlate(*strengths)


def _correlate(a: Array, b: Array) -> float:
    """The correlation of two samples (n,); 0 if one of them does not vary."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.nan_to_num(np.corrcoef(a, b)[0, 1]))
