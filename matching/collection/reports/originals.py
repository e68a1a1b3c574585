"""The choice of the picture of a group from which the others were most likely made."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from matching._common import opencv
from matching.errors import InputError
from matching.pictures.images import read_picture

SHARP = 0.7  # share of the largest sharpness: lossy copies have more, blurred or enlarged ones less than 0.5
LOOKED_AT = 10  # the most pictures of a group that are read
COLOURED = 3.0  # mean difference of the channels, of 255: lossy grey pictures have less


@dataclass(frozen=True)
class Shot:
    """A picture of a group."""

    number: int  # in the database
    path: str
    n_pixels: int


def choose_original(shots: Sequence[Shot]) -> Shot:
    """Choose the likely original by number of pixels, sharpness, colour, file size, and path."""
    largest = max(shot.n_pixels for shot in shots)
    left = [shot for shot in shots if shot.n_pixels == largest]
    if len(left) == 1:
        return left[0]
    left = sorted(left, key=lambda shot: (-_count_bytes(shot.path), shot.path))[:LOOKED_AT]
    looks = [look_at(shot.path) for shot in left]
    most = max(look.sharpness for look in looks)
    sharp = [k for k, look in enumerate(looks) if look.sharpness >= SHARP * most]
    return left[next((k for k in sharp if looks[k].is_coloured), sharp[0])]


@dataclass(frozen=True)
class Look:
    """What a picture looks like."""

    sharpness: float  # mean square of the second differences of the luma
    is_coloured: bool


def look_at(path: str) -> Look:
    """Measure what the picture in a file looks like."""
    try:
        rgb = read_picture(path).rgb
    except InputError:
        return Look(0.0, False)
    luma = opencv.luma(rgb).astype(np.float32)
    differences = [np.diff(luma, 2, axis=axis) for axis in (0, 1)]
    sharpness = sum(float(np.square(d).mean(dtype=np.float64)) for d in differences if d.size)
    spread = rgb.max(axis=2) - rgb.min(axis=2)
    return Look(sharpness, bool(spread.mean() > COLOURED))


def _count_bytes(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0
