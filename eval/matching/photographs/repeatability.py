"""How many key points of a picture are found again in a turned and scaled copy of it (Mikolajczyk et al., A
comparison of affine region detectors, IJCV 2005), for the key points of this program and of OpenCV.
"""

from __future__ import annotations

import cv2
import numpy as np
from scipy.spatial import cKDTree

from matching.features.extraction import rotation
from matching.features.keypoints import dog_keypoints

DETECTORS = ("gdl-match", "opencv")
BORDER = 20  # width of the edge of the copy in which no key point is looked for, pixels


def detect(name, grey, n_threads=1):
    """Centres (n, 2), pixels, and scales (n,) of the key points of a grey image (h, w) uint8; each place and
    scale is listed once.
    """
    if name == "gdl-match":
        found = dog_keypoints(grey, n_threads=n_threads)
        return found.xy, found.sigma
    rows = np.array([(*k.pt, k.size / 2) for k in cv2.SIFT_create().detect(grey)]).reshape(-1, 3)
    rows = np.unique(rows, axis=0)  # one for each orientation
    # OpenCV doubles the image without moving the pixel grid, so all key points lie a quarter of a pixel too
    # far right and down.
    return rows[:, :2] - 0.25, rows[:, 2]


def turned_copy(grey, angle, scale, rng, noise=2.0):
    """A picture turned by `angle` radians and scaled about its middle, with Gaussian noise, given in grey
    levels; and the map (2, 3) from its pixels to those of the copy.
    """
    linear = scale * rotation(angle)
    middle = (np.array(grey.shape[::-1]) - 1) / 2
    matrix = np.column_stack([linear, middle - linear @ middle])
    copy = cv2.warpAffine(grey, matrix, grey.shape[::-1], flags=cv2.INTER_CUBIC)
    return np.clip(np.rint(copy + rng.normal(0, noise, grey.shape)), 0, 255).astype(np.uint8), matrix


def found_again(key_points, copys, matrix, shape):
    """(n,) pixels: for each key point whose place lies in the copy, the distance to the nearest key point of
    the copy at about the same scale; nan if none is within 1.5 times the scale, or within 1.5 pixels if that
    is more.

    key_points, copys : centres (n, 2) and scales (n,); shape : (h, w) of the copy
    """
    (xy, sigma), (xy_copy, sigma_copy) = key_points, copys
    there = xy @ matrix[:, :2].T + matrix[:, 2]
    sigma = sigma * np.sqrt(np.linalg.det(matrix[:, :2]))
    inside = ((there > BORDER) & (there < np.array(shape[::-1]) - BORDER)).all(axis=1)
    there, sigma = there[inside], sigma[inside]
    if len(xy_copy) == 0:
        return np.full(len(there), np.nan)
    near = cKDTree(xy_copy).query(there, min(8, len(xy_copy)))[1].reshape(len(there), -1)
    gap = np.linalg.norm(xy_copy[near] - there[:, None], axis=2)
    alike = np.abs(np.log2(sigma_copy[near] / sigma[:, None])) < 0.5
    gap[~alike | (gap > 1.5 * np.maximum(sigma, 1)[:, None])] = np.inf
    least = gap.min(axis=1)
    return np.where(np.isfinite(least), least, np.nan)
