"""Pairs of composite images with exact truth, after the paper's protocol (Sec. 4.2).

Notation: both images have size x size pixels and consist of 3 x 3 tiles of `side` x `side` pixels. Image 1 is
a flat image of tiles warped by G (synth.warp): its pixel y shows what the flat image shows at G(y). An
instance is one occurrence of an object in image 1; its affine map A takes pixels of image 0 to pixels of the
flat image, so a correspondence (x0, x1) is true if A x0 and G(x1) are the same place and that place shows the
instance.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import cv2
import numpy as np

from synth._types import Array, Floats, Int16s, Ints, Picture
from synth.photographs import Photographs
from synth.poses import Posed, hard, plain
from synth.warp import ThinPlateWarp, random_warp, render

GRID = 3  # tiles per side
TRUE_WITHIN = 3.0  # px, the paper's tolerance


@dataclass(frozen=True, eq=False)
class CompositePair:
    """Two images, and everything that is needed to distinguish true correspondences from false ones.

    Parameters
    ----------
    image0, image1 : (size, size, 3) uint8
        The pictures, RGB.
    warp : ThinPlateWarp
        G, from image 1 to the flat image, pixels.
    affine : (n, 2, 3) float64
        The map of each instance from image 0 to the flat image, pixels.
    object_id : (n,) int64
        The object that an instance shows; it is the same for all copies of an object.
    corner0 : (n, 2) float64
        Top-left pixel of the object's tile in image 0.
    instance_map : (size, size) int16
        The instance that the flat image shows at a pixel, -1 for none.
    side : int
        Side of a tile, pixels.
    settings : dict
        The arguments with which the pair was made.
    """

    image0: Picture
    image1: Picture
    warp: ThinPlateWarp
    affine: Floats
    object_id: Ints
    corner0: Floats
    instance_map: Int16s
    side: int
    settings: dict[str, int | float | bool] = field(default_factory=dict)

    @property
    def n_instances(self) -> int:
        """The number of instances."""
        return len(self.affine)


def composite_pair(
    photographs: Photographs,
    n_common: int = 3,
    sigma: float = 10.0,
    seed: int = 0,
    *,
    side: int = 320,
    copies: int = 1,
    hard_poses: bool = False,
    mirrored: bool = False,
) -> CompositePair:
    """Make a pair of 3 x 3 composites with `n_common` (M) objects in both.

    The same arguments give the same pixels. All tiles without an object are different photographs. No two
    objects touch in the same arrangement in both images (`move_as_one`).

    Parameters
    ----------
    photographs : Photographs
        The pictures to choose from.
    n_common : int
        M, the number of objects that both images show.
    sigma : float
        sigma_n, the standard deviation of each control point of the warp, pixels.
    seed : int
        Seed of all random choices.
    side : int
        Side of a tile, pixels.
    copies : int
        How often image 1 shows each object.
    hard_poses : bool
        The objects of image 1 are also rotated, scaled by 0.5 to 2, relit and partly covered.
    mirrored : bool
        The objects of image 1 are mirrored left to right.

    Returns
    -------
    CompositePair
        The images and their truth.

    Raises
    ------
    ValueError
        If there are too few photographs or a number is out of range.
    """
    _check(photographs, n_common, sigma, side, copies, hard_poses)
    tiling, posing, bending = np.random.default_rng(seed).spawn(3)
    models = [photographs.models[i] for i in tiling.permutation(len(photographs.models))[:n_common]]
    others = iter(photographs.tiles[i] for i in tiling.permutation(len(photographs.tiles)))

    objects = [fill_square(m, side) for m in models]
    owner = np.repeat(np.arange(n_common), copies)
    places0, places1 = draw_places(owner, tiling)
    image0 = _tile([*objects, *_squares(others, GRID**2 - n_common, side)], places0)
    rest = _squares(others, GRID**2 - len(owner), side)
    posed = [_pose(objects[o], others, posing, hard_poses, mirrored) for o in owner]
    flat = _tile([*(p.picture for p in posed), *rest], places1)

    corner0 = _corners(places0, side)[owner]
    corner1 = _corners(places1, side)[: len(owner)]
    warp = random_warp(GRID * side, sigma, bending)
    settings = {
        "n_common": n_common,
        "sigma": sigma,
        "seed": seed,
        "side": side,
        "copies": copies,
        "hard": hard_poses,
        **({"mirrored": True} if mirrored else {}),
    }
    return CompositePair(
        image0=image0,
        image1=render(flat, warp),
        warp=warp,
        affine=_between_images(posed, corner0, corner1),
        object_id=owner,
        corner0=corner0,
        instance_map=_draw_instances(posed, places1, side),
        side=side,
        settings=settings,
    )


def true_instance(pair: CompositePair, xy0: Array, xy1: Array, tolerance: float = TRUE_WITHIN) -> Ints:
    """Find the instance on which each correspondence is true.

    The error |A x0 - G(x1)| is measured in pixels of the flat image, divided by the scale of the instance if
    that is above 1, so that it is in pixels of the coarser picture.

    Parameters
    ----------
    pair : CompositePair
        The images with their truth.
    xy0, xy1 : (m, 2) array
        Points of image 0 and of image 1, pixels.
    tolerance : float
        Errors below this count as true, pixels.

    Returns
    -------
    (m,) int64
        The instance, or -1 if the correspondence is false.
    """
    xy0 = np.asarray(xy0, np.float64).reshape(-1, 2)
    seen = pair.warp(xy1)  # (m, 2) G(x1)
    instance = np.full(len(xy0), -1, np.int64)
    for n, affine in enumerate(pair.affine):
        expected = xy0 @ affine[:, :2].T + affine[:, 2]  # (m, 2) A x0
        scale = max(1.0, np.sqrt(abs(np.linalg.det(affine[:, :2]))))
        near = np.linalg.norm(expected - seen, axis=1) < tolerance * scale
        on_tile = np.all((xy0 >= pair.corner0[n] - 0.5) & (xy0 < pair.corner0[n] + pair.side - 0.5), axis=1)
        instance[near & on_tile & (_lookup(pair.instance_map, expected) == n)] = n
    return instance


def draw_places(owner: Ints, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw permutations of the tiles of both images until no two objects move as one.

    About one draw in five succeeds for nine objects, the hardest case, and more for fewer objects, as the
    test of this function shows.

    Parameters
    ----------
    owner : (n,) int64
        The object of each instance.
    rng : numpy.random.Generator
        Source of random numbers.

    Returns
    -------
    tuple of (9,) int64
        The place of each tile in image 0 and in image 1, row by row.
    """
    while True:
        places0, places1 = rng.permutation(GRID**2), rng.permutation(GRID**2)
        if not move_as_one(places0[owner], places1[: len(owner)]):
            return places0, places1


def move_as_one(places0: Ints, places1: Ints) -> bool:
    """Test whether two instances touch, at a side or corner, in the same arrangement in both images.

    The images can't distinguish two such instances from one rigid object, so one object is as good an answer
    as two.

    Parameters
    ----------
    places0, places1 : (n,) int64
        Tile of each instance in image 0 and in image 1, row by row.

    Returns
    -------
    bool
        Whether any two instances touch in this way.
    """
    apart0, apart1 = (
        at[:, None] - at[None] for at in (np.stack(np.divmod(p, GRID), axis=1) for p in (places0, places1))
    )  # (n, n, 2) rows and columns
    beside = np.abs(apart0).max(axis=2) == 1
    return bool((beside & (apart0 == apart1).all(axis=2)).any())


def fill_square(picture: Picture, side: int) -> Picture:
    """Resize the largest square in the middle of a picture.

    Parameters
    ----------
    picture : (h, w, 3) uint8
        Any picture.
    side : int
        Side of the resulting square, pixels.

    Returns
    -------
    (side, side, 3) uint8
        The square, resized by area means if it becomes smaller, and by bicubic interpolation if it becomes
        larger.
    """
    h, w = picture.shape[:2]
    factor = side / min(h, w)
    size = max(side, round(w * factor)), max(side, round(h * factor))
    resized = cv2.resize(picture, size, interpolation=cv2.INTER_AREA if factor < 1 else cv2.INTER_CUBIC)
    y, x = (size[1] - side) // 2, (size[0] - side) // 2
    return np.asarray(resized[y : y + side, x : x + side], np.uint8)


def _squares(pictures: Iterator[Picture], n: int, side: int) -> list[Picture]:
    return [fill_square(next(pictures), side) for _ in range(n)]


def _pose(
    tile: Picture, others: Iterator[Picture], rng: np.random.Generator, hard_poses: bool, mirrored: bool
) -> Posed:
    if not mirrored:
        return _upright(tile, others, rng, hard_poses)
    posed = _upright(tile[:, ::-1], others, rng, hard_poses)
    flip = np.array([[-1.0, 0.0, len(tile) - 1], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    return replace(posed, affine=posed.affine @ flip)


def _upright(tile: Picture, others: Iterator[Picture], rng: np.random.Generator, hard_poses: bool) -> Posed:
    if not hard_poses:
        return plain(tile)
    background = fill_square(next(others), len(tile))
    # the background turned by 90 degrees covers the object, because image 0 shows nothing of it
    return hard(tile, background, np.rot90(background), rng)


def _corners(places: Array, side: int) -> Floats:
    return np.stack([places % GRID, places // GRID], axis=1) * float(side)


def _tile(tiles: list[Array], places: Array) -> Array:
    side = len(tiles[0])
    image = np.empty((GRID * side, GRID * side, *tiles[0].shape[2:]), tiles[0].dtype)
    for tile, (x, y) in zip(tiles, _corners(places, side).astype(int), strict=True):
        image[y : y + side, x : x + side] = tile
    return image


def _draw_instances(posed: list[Posed], places: Array, side: int) -> Int16s:
    shown = [np.where(p.visible, n, -1).astype(np.int16) for n, p in enumerate(posed)]
    empty = np.full((side, side), -1, np.int16)
    return _tile(shown + [empty] * (GRID**2 - len(posed)), places)


def _between_images(posed: list[Posed], corner0: Array, corner1: Array) -> Floats:
    """(n, 2, 3): maps from tile to place, including the corners: A x0 = L (x0 - corner0) + t + corner1."""
    affine = np.stack([p.affine for p in posed])
    affine[:, :, 2] += corner1 - np.einsum("nij,nj->ni", affine[:, :, :2], corner0)
    return affine


def _lookup(instance_map: Int16s, xy: Array) -> Int16s:
    """Values at (m, 2) positions, -1 outside the image."""
    size = len(instance_map)
    column, row = np.rint(xy).astype(int).T
    inside = (column >= 0) & (column < size) & (row >= 0) & (row < size)
    return np.where(inside, instance_map[row * inside, column * inside], -1)


def _check(
    photographs: Photographs, n_common: int, sigma: float, side: int, copies: int, hard_poses: bool
) -> None:
    n_tiles, n_models = len(photographs.tiles), len(photographs.models)
    if not 1 <= n_common <= min(n_models, GRID**2):
        raise ValueError(
            f"n_common must be in [1, {min(n_models, GRID**2)}] for {n_models} models, got {n_common}"
        )
    if copies < 1 or n_common * copies > GRID**2:
        raise ValueError(f"copies must be in [1, {GRID**2 // n_common}] for {n_common} objects, got {copies}")
    if not 0 <= sigma < np.inf:
        raise ValueError(f"sigma must be a number of pixels, 0 or more, got {sigma}")
    if side < 32:
        raise ValueError(f"side must be at least 32 pixels, got {side}")
    n_needed = 2 * GRID**2 - n_common - (0 if hard_poses else n_common * copies)
    if n_tiles < n_needed:
        raise ValueError(
            f"tiles must hold at least {n_needed} photographs for n_common={n_common}, got {n_tiles}"
        )
