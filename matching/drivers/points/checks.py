"""Checks of the matches that users give."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from matching._common.arrays import invert_matrices
from matching._common.types import Array, Floats
from matching.errors import InputError

MAX_CONDITION = 1e6  # condition number of a frame beyond which it is flat; no record of a choice

Sizes = tuple[Array | None, Array | None]  # (h, w) of either picture


def check_given(
    xy0: ArrayLike,
    xy1: ArrayLike,
    frames0: ArrayLike | None,
    frames1: ArrayLike | None,
    sizes: ArrayLike | None,
    score: ArrayLike | None,
    score_is_similarity: bool = False,
) -> tuple[Floats, Floats, Array | None, Sizes, Floats]:
    """Check the arguments of `group_matches`, and convert them to arrays.

    Returns the points, the maps that the frames predict (or None), the sizes (None if unknown), and the
    scores, smaller is better.
    """
    x0, x1 = _read_numbers("xy0", xy0, (2,)), _read_numbers("xy1", xy1, (2,))
    n = len(x0)
    if len(x1) != n:
        raise InputError(f"xy1 must have as many rows as xy0, {n}, got {len(x1)}")
    if (frames0 is None) != (frames1 is None):
        name = "frames0" if frames0 is None else "frames1"
        raise InputError(f"{name} must be given if the other one is, got None")
    maps = None
    if frames0 is not None:
        frames = _read_frames("frames0", frames0, n), _read_frames("frames1", frames1, n)
        maps = frames[1] @ invert_matrices(frames[0])
    both: Sizes = (None, None)
    if sizes is not None:
        size0, size1 = _read_numbers("sizes", sizes, (2,), 2)
        both = size0, size1
        if not (np.minimum(size0, size1) > 0).all():
            given = [size0.tolist(), size1.tolist()]
            raise InputError(f"sizes must be positive numbers ((h0, w0), (h1, w1)), got {given}")
    distance = np.zeros(n) if score is None else _read_numbers("score", score, (), n)
    return x0, x1, maps, both, 1 - distance if score_is_similarity and score is not None else distance


def _read_frames(name: str, values: Any, n: int) -> Floats:
    """Read a float64 array (n, 2, 2) of invertible matrices."""
    frames = _read_numbers(name, values, (2, 2), n)
    flat = np.flatnonzero(np.linalg.cond(frames) > MAX_CONDITION) if n else np.empty(0, np.int64)
    if len(flat):
        wrong = frames[flat[0]].tolist()
        raise InputError(f"{name} must be invertible, got {wrong} in row {flat[0]} (from 0)")
    return frames


def _read_numbers(name: str, values: Any, shape: tuple[int, ...], n: int | None = None) -> Floats:
    """Read a float64 array (n, *shape) of numbers that are finite even in single precision."""
    try:
        array = np.array(values)
        array = array.astype(np.float64, casting="unsafe" if array.dtype.kind in "OSU" else "same_kind")
    except (TypeError, ValueError):
        raise InputError(f"{name} must be an array of numbers, got {type(values).__name__}") from None
    if array.size == 0 and array.ndim <= 1 + len(shape) and not n:
        return array.reshape(0, *shape)
    if array.shape[1:] != shape or array.ndim != 1 + len(shape) or (n is not None and len(array) != n):
        wanted = str(("n" if n is None else n, *shape)).replace("'", "")
        raise InputError(f"{name} must have shape {wanted}, got {array.shape}")
    bad = np.flatnonzero((~(np.abs(array) < np.finfo(np.float32).max)).reshape(len(array), -1).any(axis=1))
    if len(bad):
        raise InputError(
            f"{name} must hold finite numbers below 3.4e38, got {array[bad[0]].tolist()} in row {bad[0]}"
            " (from 0)"
        )
    return array
