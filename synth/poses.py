"""Poses of an object in the second image: the plain pose of the paper, and hard ones.

A pose is the (2, 3) affine map from pixels of the object's square tile to pixels of the place where it is
painted, together with the painted place and the mask of the pixels that show the object.
"""

from dataclasses import dataclass

import cv2
import numpy as np

from synth._types import Array, Bools, Floats, Picture

# The hard poses go beyond the paper; each is drawn uniformly (the scale on a logarithmic axis).
SCALES = (0.5, 2.0)
GAINS = (0.6, 1.3)
GAMMAS = (0.7, 1.4)
SIDE_LIGHT = 0.25  # greatest relative change of brightness from the middle of a tile to its edge
COVERED = (0.1, 0.35)  # share of the object's visible area that another thing hides


@dataclass(frozen=True, eq=False)
class Posed:
    """A painted place.

    Parameters
    ----------
    picture : (side, side, 3) uint8
        The place as painted, RGB.
    affine : (2, 3) float64
        The map from pixels of the tile to pixels of the place.
    visible : (side, side) bool
        The pixels that show the object.
    """

    picture: Picture
    affine: Floats
    visible: Bools


def plain(tile: Picture) -> Posed:
    """Place the object unchanged: the identity, with everything visible.

    Parameters
    ----------
    tile : (side, side, 3) uint8
        The object's picture.

    Returns
    -------
    Posed
        The place.
    """
    return Posed(tile, np.eye(2, 3), np.ones(tile.shape[:2], bool))


def hard(tile: Picture, background: Picture, cover: Picture, rng: np.random.Generator) -> Posed:
    """Place the object turned by any angle, scaled by 0.5 to 2, relit and partly covered.

    Parameters
    ----------
    tile : (side, side, 3) uint8
        The object's picture.
    background : (side, side, 3) uint8
        The picture behind the object.
    cover : (side, side, 3) uint8
        The picture in front of the object.
    rng : numpy.random.Generator
        Source of random numbers.

    Returns
    -------
    Posed
        The place.
    """
    side = len(tile)
    scale = float(np.exp(rng.uniform(*np.log(SCALES))))
    resized, affine = _turn(tile, rng.uniform(0, 2 * np.pi), scale)
    object_ = cv2.warpAffine(_relight(resized, rng), affine[1], (side, side), flags=cv2.INTER_CUBIC)
    visible = cv2.warpAffine(np.ones(resized.shape[:2], np.float32), affine[1], (side, side)) > 0.999
    covered = _cover_mask(visible, rng)
    picture = np.where(visible[..., None], object_, background)
    picture = np.where(covered[..., None], cover, picture)
    return Posed(picture, affine[0], visible & ~covered)


def _turn(tile: Picture, angle: float, scale: float) -> tuple[Picture, tuple[Array, Array]]:
    """The resized tile (by area means if smaller), and the maps to the place from the tile and from the
    resized tile.
    """
    side = len(tile)
    n = round(side * scale)
    resized = cv2.resize(tile, (n, n), interpolation=cv2.INTER_AREA if n < side else cv2.INTER_CUBIC)
    rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    middle = (side - 1) / 2
    # centres of resized pixels: p' + 1/2 = (p + 1/2) n / side, so both squares have their middles as centres
    from_tile, from_resized = (
        np.c_[s * rotation, middle - s * rotation @ np.full(2, centre)]
        for s, centre in ((n / side, middle), (1.0, (n - 1) / 2))
    )
    return np.asarray(resized, np.uint8), (from_tile, from_resized)


def _relight(picture: Picture, rng: np.random.Generator) -> Picture:
    """Apply a random gain and gamma, and light that falls off towards one side."""
    angle, light = rng.uniform(0, 2 * np.pi), rng.uniform(0, SIDE_LIGHT)
    gain, gamma = rng.uniform(*GAINS), rng.uniform(*GAMMAS)
    v, u = np.mgrid[-1 : 1 : len(picture) * 1j, -1 : 1 : len(picture) * 1j]
    slope = 1 + light * (u * np.cos(angle) + v * np.sin(angle))
    lit = 255 * gain * (picture / 255.0) ** gamma * slope[..., None]
    return np.asarray(np.clip(np.rint(lit), 0, 255), np.uint8)


def _cover_mask(visible: Bools, rng: np.random.Generator) -> Bools:
    """A half-plane in a random direction that hides a random share of the visible pixels, inside the object's
    outline.
    """
    angle, share = rng.uniform(0, 2 * np.pi), rng.uniform(*COVERED)
    y, x = np.indices(visible.shape)
    along = x * np.cos(angle) + y * np.sin(angle)
    covered: Bools = visible & (along > np.quantile(along[visible], 1 - share))
    return covered
