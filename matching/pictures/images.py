"""Reading pictures: any file or array as a record of 8-bit pixels, and the image that is matched.

Pixel coordinates are the same everywhere: x to the right, y down, with (0, 0) the centre of the top-left
pixel of the picture as displayed.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from matching._common import opencv
from matching._common.types import Array, Bools, Floats, Ints
from matching.errors import InputError
from matching.pictures.contrast import draw_shape, has_one_colour, raise_contrast, to_eight_bits
from matching.pictures.decoding import Decoded, decode

# Share of neighbouring pixels that are equal, at least, in what was drawn by a program. Screens, drawings and
# scanned line art have 0.6 and more, photographs at most 0.36.
MIN_EQUAL_NEIGHBOURS = 0.5
DRAWN_ROW_STEP = 4  # rows between those that are looked at
MIN_ALPHA = 1 / 64  # of an opaque pixel: the shadow around the window of a screenshot has more
TRANSPARENT_GREY = 230  # where a picture is transparent, so that neither black nor white drawings vanish


@dataclass(frozen=True, eq=False)
class Picture:
    """One picture."""

    rgb: Array  # (h, w, 3) uint8
    mask: Array | None = None  # (h, w) bool, where features may lie; None for everywhere
    path: Path | None = None  # None for an array
    orientation: int = 1  # EXIF, 1 to 8, already applied to `rgb` and `mask`
    transparent: Array | None = None  # (h, w) bool, where alpha is below one half; None for nowhere
    shape: Array | None = None  # (h, w) bool, where a drawing in one colour is opaque; None for others
    faint: Array | None = None  # (h, w) bool, where alpha shows anything, such as a shadow; None: as the mask

    @property
    def displayed(self) -> Array:
        """(h, w, 3) uint8: the picture, light grey where it is transparent."""
        if self.transparent is None:
            return self.rgb
        return np.where(self.transparent[:, :, None], np.uint8(TRANSPARENT_GREY), self.rgb)

    @property
    def negative(self) -> Picture:
        """The picture with its colours inverted."""
        return replace(self, rgb=255 - self.rgb)

    @cached_property
    def grey(self) -> Array:
        """(h, w) uint8: luma, with more contrast if the picture is flat; masked pixels have the mean."""
        grey = raise_contrast(opencv.luma(self.rgb), self.rgb, self.mask)
        if self.mask is not None:
            grey[~self.mask] = round(float(grey[self.mask].mean())) if self.mask.any() else 0
        return grey

    @cached_property
    def is_drawn(self) -> bool:
        """Whether it was drawn by a program, and is no photograph: many neighbours are equal."""
        if self.transparent is not None or self.shape is not None:
            return True
        rows = self.rgb[::DRAWN_ROW_STEP]
        equal = (rows[:, 1:] == rows[:, :-1]).all(axis=2)
        if self.mask is not None:
            equal = equal[self.mask[::DRAWN_ROW_STEP, 1:]]
        return bool(equal.size) and float(equal.mean()) >= MIN_EQUAL_NEIGHBOURS

    @property
    def box(self) -> Floats:
        """(2, 2) float64: least and greatest x and y of what is shown, to the outer edges of pixels."""
        low, high = np.zeros(2), np.array([self.width, self.height], np.float64)
        shown = self.mask if self.faint is None else self.faint
        if shown is not None and shown.any():
            places = [np.flatnonzero(shown.any(axis=axis)) for axis in (0, 1)]
            low, high = np.array([(place[0], place[-1] + 1) for place in places], np.float64).T
        return np.array([low, high]) - 0.5

    @property
    def size(self) -> Ints:
        """(2,) int64: width and height."""
        return np.array(self.rgb.shape[1::-1])

    @property
    def width(self) -> int:
        """The number of pixels from left to right."""
        return int(self.rgb.shape[1])

    @property
    def height(self) -> int:
        """The number of pixels from top to bottom."""
        return int(self.rgb.shape[0])


class NamedImage(NamedTuple):
    """What is known of a picture that was not read."""

    path: str | None
    width: int | None  # pixels
    height: int | None


@dataclass(frozen=True, eq=False)
class WorkingImage:
    """The image that is matched: a picture's grey values, reduced if the picture is large."""

    grey: Array  # (h, w) uint8
    mask: Array | None  # (h, w) bool, where features may lie; None for everywhere
    step: Array  # (2,) float64, pixels of the picture per working pixel, in x and y


def to_picture(xy: Array, step: Array) -> Floats:
    """Convert working pixels (n, 2) to picture pixels by step (2,); (0, 0) is the first centre in both."""
    return (xy + 0.5) * step - 0.5


def make_working_image(picture: Picture, max_pixels: int, enlarged: int = 1) -> WorkingImage:
    """Reduce the grey values of a picture to `max_pixels`, or enlarge a smaller picture by a factor."""
    grey, mask = picture.grey, picture.mask
    factor = math.sqrt(max_pixels / grey.size)
    if factor >= 1:
        if mask is not None and enlarged > 1:
            mask = np.kron(mask, np.ones((enlarged, enlarged), bool))
        return WorkingImage(opencv.resize(grey, enlarged), mask, np.full(2, 1 / enlarged))
    width, height = (max(round(n * factor), 1) for n in picture.size.tolist())
    small = opencv.resize_area(grey, width, height)
    if mask is not None:
        mask = opencv.resize_area(mask.astype(np.uint8) * 255, width, height) >= 128
    return WorkingImage(small, mask, picture.size / (width, height))


def read_picture(path: str | PathLike[str]) -> Picture:
    """Read the picture in a file, upright; transparent pixels are masked, except in one-colour drawings."""
    return replace(_make_decoded(decode(path), str(path)), path=Path(path))


def make_picture(image: Any, name: str = "image") -> Picture:
    """Make a picture from a file, its content, a Pillow image, or an array."""
    if isinstance(image, Picture):
        return image
    if isinstance(image, (str, PathLike)):
        return read_picture(image)
    return _make_decoded(decode(image, name), name)


def _make_decoded(decoded: Decoded, name: str) -> Picture:
    """Make a picture of what a file holds, and warn if it holds more."""
    if decoded.n_frames > 1:
        text = f"only the first of its {decoded.n_frames} frames or pages is looked at"
        warnings.warn(f"{name}: {text}; save a video, or pictures, to look at all", stacklevel=3)
    return replace(make_picture_of_array(decoded.array, name), orientation=decoded.orientation)


def make_picture_of_array(array: Any, name: str = "image") -> Picture:
    """Make a picture from an array (h, w), (h, w, 3) or (h, w, 4)."""
    array, alpha = _split_channels(array, name)
    if array.dtype.kind == "f" and not np.isfinite(array).any():
        warnings.warn(f"{name}: all of its pixels are NaN or infinite", stacklevel=3)
    mask = None if alpha is None else _drop_full_mask(alpha >= _find_opaque(alpha) / 2)
    grey = to_eight_bits(array, mask)
    rgb = np.repeat(grey[:, :, None], 3, axis=2) if grey.ndim == 2 else np.ascontiguousarray(grey)
    if alpha is not None and mask is not None and has_one_colour(rgb, mask):
        return Picture(draw_shape(array, alpha, _find_opaque(alpha)), shape=mask)
    if alpha is None or mask is None:
        return Picture(rgb, mask)
    return Picture(rgb, mask, transparent=~mask, faint=alpha >= MIN_ALPHA * _find_opaque(alpha))


def add_mask(picture: Picture, mask: Any, name: str = "mask") -> Picture:
    """Restrict a picture's features to where a mask, and also any earlier mask, is white."""
    if mask is None:
        return picture
    name = str(mask) if isinstance(mask, (str, PathLike)) else name
    values, alpha = _split_channels(decode(mask, name)[0], name)
    if values.shape[:2] != picture.rgb.shape[:2]:
        raise InputError(
            f"{name}: a mask must be as large as its picture, {picture.width} x {picture.height},"
            f" got {values.shape[1]} x {values.shape[0]}"
        )
    white = _is_white(values)
    for other in (None if alpha is None else _is_white(alpha), picture.mask):
        if other is not None:
            white &= other
    return replace(picture, mask=_drop_full_mask(white), faint=None)


def _is_white(values: Array) -> Bools:
    """Find the pixels (h, w) of a mask (h, w) or (h, w, 3) that are nearer to white than to black."""
    white: Bools = values >= _find_full_scale(values) / 2
    return np.asarray(white.all(axis=2)) if white.ndim == 3 else white


def _split_channels(array: Any, name: str) -> tuple[Array, Array | None]:
    """Split an array into its colours (h, w) or (h, w, 3), and its alpha (h, w) or None."""
    array = np.asarray(array)
    if array.dtype.kind not in "buif":
        raise InputError(f"{name}: must be a path, or an array of real numbers, got type {array.dtype}")
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] not in (3, 4)) or array.size == 0:
        raise InputError(f"{name}: the shape must be (h, w), (h, w, 3) or (h, w, 4), got {array.shape}")
    return (array[:, :, :3], array[:, :, 3]) if array.shape[2:] == (4,) else (array, None)


def _find_opaque(alpha: Array) -> float:
    """Find the alpha of an opaque pixel: 1 for floats and booleans, or the type's maximum or full scale."""
    if alpha.dtype.kind not in "ui":
        return 1
    return _find_full_scale(alpha) if alpha.dtype.itemsize > 2 else np.iinfo(alpha.dtype).max


def _find_full_scale(values: Array) -> float:
    """Find the smallest of 1, 255 and 65535 that no value exceeds; the largest value if there is none."""
    largest = np.max(values, where=np.isfinite(values), initial=0)
    return next((full for full in (1, 255, 65535) if largest <= full), largest)


def _drop_full_mask(mask: Bools | None) -> Bools | None:
    return None if mask is None or mask.all() else mask
