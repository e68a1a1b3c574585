"""A plane photographed several times with known homographies, in the layout of the Oxford affine sequences
(img1, img2, ..., H1to2p.txt, ...): how far a transform takes the corners of image 1 from their true places.
"""

from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from eval.matching.baselines.ransac import sift_matches
from matching import match
from matching.objects.transforms import apply_transform
from matching.pictures.images import read_picture
from synth.photographs import SUFFIXES

THRESHOLD = 3.0  # px, of the rival's RANSAC


def sequence(folder: Path) -> Iterator[tuple[int, Path, Path, NDArray[np.float64]]]:
    """Number N, image 1, image N and the homography (3, 3) between them, by N. Raises ValueError if there are
    none.
    """
    found = [(int(p.stem[4:-1]), p) for p in folder.glob("H1to*p.txt")]
    if not found:
        raise ValueError(f"{folder} must hold H1to2p.txt, H1to3p.txt, ... (homographies), found none")
    for number, path in sorted(found):
        yield number, _image(folder, 1), _image(folder, number), np.loadtxt(path)


def corner_error(found: NDArray, truth: NDArray, width: int, height: int) -> float:
    """Mean distance, in pixels of the second image, between the image's corners mapped by `found` and by
    `truth`.

    >>> corner_error(np.eye(3), np.array([[1, 0, 3], [0, 1, 4], [0, 0, 1]]), 640, 480)
    5.0
    """
    right, bottom = width - 1.0, height - 1.0
    corners = np.array([[0, 0], [right, 0], [right, bottom], [0, bottom]])
    gap = apply_transform(np.asarray(found), corners) - apply_transform(np.asarray(truth), corners)
    return float(np.linalg.norm(gap, axis=1).mean())


def measure(folder: Path) -> Iterator[dict]:
    """A row for each pair: objects found, matches and corner error (nan without an object) of the one with
    the most matches; and the error of OpenCV's SIFT, ratio test and RANSAC.
    """
    for number, path0, path1, truth in sequence(folder):
        pictures = read_picture(path0), read_picture(path1)
        size = pictures[0].width, pictures[0].height
        result = match(*pictures)
        row = {"pair": f"1-{number}", "objects": len(result.objects), "matches": 0, "error": np.nan}
        if result.objects:
            largest = max(result.objects, key=lambda found: found.n_matches)
            row |= {
                "matches": largest.n_matches,
                "error": corner_error(largest.transform, truth, *size),
            }
        yield row | {"ransac_error": _ransac_error(pictures, truth, size)}


def _ransac_error(pictures, truth, size):
    matches = sift_matches(pictures[0].rgb, pictures[1].rgb)
    if len(matches.score) < 4:
        return np.nan
    matrix, _ = cv2.findHomography(matches.xy0, matches.xy1, cv2.USAC_MAGSAC, THRESHOLD, maxIters=10_000)
    return np.nan if matrix is None else corner_error(matrix, truth, *size)


def _image(folder, number):
    found = sorted(p for p in folder.glob(f"img{number}.*") if p.suffix.lower() in SUFFIXES)
    if not found:
        raise ValueError(f"{folder} must hold img{number} as a picture, found none")
    return found[0]
