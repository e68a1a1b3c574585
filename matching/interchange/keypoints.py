"""Keypoints of an image that another program holds in memory, and arrays of any origin.

Nothing is imported from PyTorch or OpenCV: a tensor or a `KeyPoint` is recognised by its attributes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from matching._common.types import Array
from matching.errors import InputError
from matching.interchange.records import KeypointSet, frames_from_angles, to_size


def to_array(value: Any, name: str) -> Array:
    """Convert an array, a nested list, or a tensor of PyTorch on any device to an array."""
    if isinstance(value, list | tuple) and any(hasattr(v, "detach") for v in value):
        value = [to_array(v, name) for v in value]
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        try:
            value = value.numpy()
        except TypeError:  # numbers such as bfloat16, which NumPy lacks
            value = value.float().numpy()
    try:
        array = np.asarray(value)
    except (ValueError, TypeError):
        array = np.empty(0, object)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name}: must be an array of numbers, got {type(value).__name__}")
    return array


def one_pair(array: Array, name: str, n_dimensions: int) -> Array:
    """Remove the batch dimension of an array."""
    if array.ndim == n_dimensions + 1:
        if len(array) != 1:
            raise InputError(f"{name}: holds {len(array)} pairs; give one of them")
        return np.asarray(array[0])
    if array.ndim not in (1, n_dimensions):
        raise InputError(f"{name}: must have {n_dimensions} dimensions, got {array.ndim}")
    return array


def keypoint_sets(keypoints0: Any, keypoints1: Any, name: str) -> tuple[KeypointSet, KeypointSet]:
    """Take the keypoints of both images: arrays, LightGlue's features or OpenCV's keypoints."""
    if keypoints0 is None or keypoints1 is None:
        raise InputError(f"{name}: holds indices of keypoints; give keypoints0 and keypoints1, too")
    set0, set1 = _read_keypoints(keypoints0, "keypoints0"), _read_keypoints(keypoints1, "keypoints1")
    are_features = isinstance(keypoints0, Mapping) or isinstance(keypoints1, Mapping)
    # LightGlue's scales are those of resized images, with one unit only if both images have one size
    if are_features and not (set0.size and set1.size and max(set0.size) == max(set1.size)):
        return replace(set0, frames=None), replace(set1, frames=None)
    return set0, set1


def _read_keypoints(given: Any, name: str) -> KeypointSet:
    """Make a KeypointSet from an array, from LightGlue's features, or from OpenCV's keypoints."""
    if isinstance(given, KeypointSet):
        return given
    if isinstance(given, Mapping):
        return read_features(given, name)
    if isinstance(given, Sequence) and len(given) and hasattr(given[0], "pt"):
        return _read_opencv_keypoints(given)
    return KeypointSet(to_points(given, name))


def read_features(given: Mapping[str, Any], name: str) -> KeypointSet:
    """Read the features of an image with the names of LightGlue and hloc; `oris` are radians."""
    if given.get("keypoints") is None:
        raise InputError(f"{name}: a dictionary of features must have `keypoints`, got {', '.join(given)}")
    xy, frames, size = to_points(given["keypoints"], name), None, None
    if given.get("scales") is not None and given.get("oris") is not None:
        scales, angles = (to_array(given[key], key).ravel() for key in ("scales", "oris"))
        if len(scales) == len(angles) == len(xy):
            frames = frames_from_angles(scales, angles)
    if given.get("image_size") is not None:
        numbers = to_array(given["image_size"], "image_size").ravel()
        if len(numbers) != 2:
            raise InputError(f"{name}: image_size must be (width, height), got {len(numbers)} numbers")
        size = to_size(*numbers)
    return KeypointSet(xy, frames, size)


def to_points(value: Any, name: str) -> Array:
    """Take points (n, 2) from an array, with or without a batch dimension."""
    array = to_array(value, name)
    if array.ndim == 3 and array.shape[1:] == (1, 2):  # as in OpenCV
        array = array[:, 0]
    xy = one_pair(array, name, 2)
    if xy.size == 0:
        return np.empty((0, 2))
    if xy.ndim != 2 or xy.shape[1] != 2:
        raise InputError(f"{name}: must have shape (n, 2), got {xy.shape}")
    return xy.astype(np.float64)


def _read_opencv_keypoints(keypoints: Sequence[Any]) -> KeypointSet:
    """Read a list of OpenCV's KeyPoint, with frames if all of them have an orientation."""
    xy = np.array([k.pt for k in keypoints], np.float64)
    size, degrees = np.array([(k.size, k.angle) for k in keypoints], np.float64).T
    if (degrees < 0).any() or (size <= 0).any():  # OpenCV's -1: no orientation
        return KeypointSet(xy)
    return KeypointSet(xy, frames_from_angles(size, np.radians(degrees)))
