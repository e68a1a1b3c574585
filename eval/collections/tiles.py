"""Which neighbours does a collection find among the tiles of a picture, and how accurate are their shifts?

A picture is cut into 6 x 6 tiles with an overlap of 10 %, each with its own brightness and noise. All pairs
are matched as `gdl-match collection --all` does. A neighbour is found if the transform of the first object is
within MAX_ERROR in the middle of the overlap. Beside it: OpenCV's SIFT with a ratio test of 0.8, and RANSAC
for a similarity with at least 8 inliers. Prints a table.
"""

import argparse
from itertools import combinations
from pathlib import Path

import cv2
import numpy as np
import skimage.data
from tqdm import tqdm

from eval.common.options import add_options
from eval.common.tables import format_markdown
from matching.drivers.pair import match_pair
from matching.grouping.methods import MANY
from matching.objects.transforms import apply_transform
from matching.pictures.images import make_picture_of_array
from matching.searches.source import ImageSource

N_TILES, OVERLAP = 6, 0.1  # tiles along each side; share of a tile
NOISE = 2.0  # grey levels, standard deviation
MAX_ERROR = 2.0  # pixels, of a shift that is found
CELL = 640, 480  # pixels of each photograph of a montage
HEADER = "picture", "neighbours", "found", "SIFT", "others", "median error", "largest"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, "tiles", "quiet")
    parser.add_argument("--seed", type=int, default=0, help="of the noise (default: %(default)s)")


def run(args: argparse.Namespace) -> None:
    pictures = {"retina": np.asarray(skimage.data.retina())[..., :3]}
    if args.tiles:
        pictures["montage"] = make_montage(args.tiles)
    rows = [measure(name, picture, args.seed, args.quiet) for name, picture in pictures.items()]
    print(format_markdown(HEADER, rows))


def make_montage(folder: Path) -> np.ndarray:
    """Lay the first nine photographs of a folder side by side (1440, 1920, 3)."""
    cells = [cv2.resize(cv2.imread(str(path)), CELL)[..., ::-1] for path in sorted(folder.iterdir())[:9]]
    return np.vstack([np.hstack(cells[k : k + 3]) for k in (0, 3, 6)])


def measure(name: str, picture: np.ndarray, seed: int, quiet: bool) -> list[str]:
    """Match all pairs of the tiles of a picture, and count what is found."""
    tiles = cut_tiles(picture, seed)
    sources = {at: ImageSource(make_picture_of_array(tile)) for at, (tile, _) in tiles.items()}
    errors, n_neighbours, n_peer, n_others = [], 0, 0, 0
    for one, other in tqdm(list(combinations(tiles, 2)), desc=name, disable=quiet):
        objects = match_pair(sources[one], sources[other], MANY).objects
        if sum(abs(a - b) for a, b in zip(one, other, strict=True)) != 1:
            n_others += bool(objects)
            continue
        n_neighbours += 1
        (tile, corner), (other_tile, other_corner) = tiles[one], tiles[other]
        low, high = np.maximum(corner, other_corner), np.minimum(corner, other_corner) + tile.shape[1::-1]
        middle, shift = (low + high) / 2 - corner, corner - other_corner
        peer = fit_by_sift(tile, other_tile)
        n_peer += peer is not None and np.linalg.norm(map_point(peer, middle) - middle - shift) < MAX_ERROR
        if not objects:
            continue
        offset = map_point(objects[0].transform, middle) - middle - shift
        if np.linalg.norm(offset) < MAX_ERROR:
            errors.append(np.linalg.norm(offset))
        else:
            n_others += 1
    figures = [np.median(errors), np.max(errors)] if errors else [np.nan] * 2
    counts = n_neighbours, len(errors), n_peer, n_others
    return [name, *map(str, counts), *(f"{figure:.2f}" for figure in figures)]


def cut_tiles(picture: np.ndarray, seed: int) -> dict[tuple[int, int], tuple[np.ndarray, np.ndarray]]:
    """Cut a picture into noisy tiles: by row and column, a tile (h, w, 3) and its corner x, y (2,)."""
    rng, tiles = np.random.default_rng(seed), {}
    height, width = (int(n / (N_TILES - OVERLAP * (N_TILES - 1))) for n in picture.shape[:2])
    for row, column in np.ndindex(N_TILES, N_TILES):
        x, y = round(column * width * (1 - OVERLAP)), round(row * height * (1 - OVERLAP))
        part = picture[y : y + height, x : x + width].astype(float)
        noisy = part * rng.uniform(0.9, 1.1) + rng.normal(0, NOISE, part.shape)
        tiles[row, column] = np.clip(noisy, 0, 255).astype(np.uint8), np.array([x, y])
    return tiles


def fit_by_sift(tile: np.ndarray, other: np.ndarray) -> np.ndarray | None:
    """Fit a similarity (3, 3) to SIFT matches by RANSAC."""
    (keys0, found0), (keys1, found1) = (
        cv2.SIFT_create().detectAndCompute(one, None) for one in (tile, other)
    )
    if found0 is None or found1 is None or len(keys1) < 2:
        return None
    nearest = cv2.BFMatcher().knnMatch(found0, found1, k=2)
    good = [best for best, second in nearest if best.distance < 0.8 * second.distance]
    if len(good) < 8:
        return None
    cv2.setRNGSeed(0)
    start = np.float32([keys0[match.queryIdx].pt for match in good])
    end = np.float32([keys1[match.trainIdx].pt for match in good])
    similarity, inlier = cv2.estimateAffinePartial2D(start, end, ransacReprojThreshold=3)
    return np.vstack([similarity, [0, 0, 1]]) if similarity is not None and inlier.sum() >= 8 else None


def map_point(transform: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Where a transform (3, 3) takes a point (2,)."""
    return apply_transform(transform, point[None])[0]
