"""Two pictures of one thing, and the exact map between them: tiles, prints and boards."""

from collections.abc import Sequence

import cv2
import numpy as np

from synth._types import Floats, Picture

KINDS, VARIANTS = ("tiles", "prints", "boards"), ("plain", "blurred", "few matches")
SIZE = 640, 480  # of a photograph, pixels
SIDES = {"few matches": 110}  # of a tile or a print, pixels; 300 otherwise
NOISE, BLUR = 2.0, 1.5  # standard deviations: grey levels, pixels


def draw_pair(
    kind: str, variant: str, photographs: Sequence[Picture], rng: np.random.Generator
) -> tuple[Picture, Picture, Floats, Floats]:
    """Draw two pictures of one thing.

    Parameters
    ----------
    kind : {"tiles", "prints", "boards"}
        Two tiles that overlap; a print, and a photograph of it on another one; a board, and the board turned.
    variant : {"plain", "blurred", "few matches"}
        The second picture is blurred, or the thing is small.
    photographs : sequence of (480, 640, 3) uint8
    rng : Generator

    Returns
    -------
    first, second : (h, w, 3) uint8
        With different brightness and noise.
    truth : (3, 3) float64
        The homography from the first to the second picture.
    corners : (4, 2) float64
        The corners of what both show, in pixels of the first.
    """
    photograph, other = (photographs[k] for k in rng.integers(len(photographs), size=2))
    side, (width, height) = SIDES.get(variant, 300), SIZE
    x, y = rng.integers((width - side - side // 2, height - side - side // 8))
    first = photograph[y : y + side, x : x + side]
    corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]]) * float(side)
    if kind == "tiles":
        shift = rng.integers((side // 3, 0), (side // 2, side // 8))
        second = photograph[y + shift[1] :, x + shift[0] :][:side, :side]
        truth = np.array([[1, 0, -shift[0]], [0, 1, -shift[1]], [0, 0, 1.0]])
        corners = np.maximum(corners, shift)
    else:
        if kind == "boards":
            small = (150, 110) if variant == "few matches" else SIZE
            first = cv2.resize(photograph, small, interpolation=cv2.INTER_AREA)
            corners, turn, tilt = corners / side * small, 0.14, 0.01
        else:
            turn, tilt = 0.5, 0.08
        middle, angle = corners.mean(axis=0), rng.uniform(-turn, turn)
        cos, sin = rng.uniform(0.8, 1.05) * np.array([np.cos(angle), np.sin(angle)])
        place = (corners - middle) @ [[cos, sin], [-sin, cos]] + np.divide(SIZE, 2)
        place += rng.uniform(-tilt, tilt, (4, 2)) * corners.max()
        truth = cv2.getPerspectiveTransform(corners.astype(np.float32), place.astype(np.float32))
        warped = cv2.warpPerspective(np.dstack([first, np.full_like(first[..., 0], 255)]), truth, SIZE)
        second = np.where(warped[..., 3:] > 127, warped[..., :3], 0 if kind == "boards" else other)
    if variant == "blurred":
        second = cv2.GaussianBlur(second, (0, 0), BLUR)
    return _expose(first, rng), _expose(second, rng), truth, corners


def _expose(picture: Picture, rng: np.random.Generator) -> Picture:
    """Change the brightness, and add noise."""
    noisy = picture * rng.uniform(0.9, 1.1) + rng.normal(0, NOISE, picture.shape)
    return np.clip(noisy, 0, 255).astype(np.uint8)
