"""Which picture of a group the others were most likely made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from matching.pictures.formats import open_image

SHARP = 0.9  # of the most features: a blurred copy has fewer
LOOKED_AT = 50  # pictures of a group whose colours are looked at, at most
THUMBNAIL = 64  # pixels, of which the colours are looked at
COLOURED = 3.0  # mean difference of the channels, of 255: lossy grey ones have less


@dataclass(frozen=True)
class Shot:
    """A picture of a group.

    Parameters
    ----------
    number : int
        In the database.
    path : str
        Its file.
    n_pixels : int
        Its width times its height.
    n_features : int
        Its features.
    """

    number: int
    path: str
    n_pixels: int
    n_features: int


def choose_original(shots: Sequence[Shot]) -> Shot:
    """Choose the picture that the others were most likely made from.

    It has most pixels; of those with as many, it is sharp: it has about as many features as any. Of these,
    one in colour comes before grey ones; then the one whose path comes first.

    Parameters
    ----------
    shots : sequence of Shot
        The pictures of a group, at least one.

    Returns
    -------
    Shot
        One of them.
    """
    largest = max(shot.n_pixels for shot in shots)
    left = sorted((shot for shot in shots if shot.n_pixels == largest), key=lambda shot: shot.path)
    most = max(shot.n_features for shot in left)
    left = [shot for shot in left if shot.n_features >= SHARP * most]
    if len(left) == 1:
        return left[0]
    return next((shot for shot in left[:LOOKED_AT] if is_coloured(shot.path)), left[0])


def is_coloured(path: str) -> bool:
    """Test whether a file shows a picture with colours.

    Parameters
    ----------
    path : str
        The file.

    Returns
    -------
    bool
        Whether it does; false where it can't be read.
    """
    try:
        with Path(path).open("rb") as file, open_image(file) as image:
            if image.mode in ("1", "L", "LA", "I", "F") or image.mode.startswith("I;"):
                return False
            image.draft("RGB", (THUMBNAIL, THUMBNAIL))
            image.thumbnail((THUMBNAIL, THUMBNAIL))
            pixels = np.asarray(image.convert("RGB"), np.int64)
    except Exception:  # a damaged file can make a decoder raise nearly anything
        return False
    return bool(np.ptp(pixels, axis=2).mean() > COLOURED)
