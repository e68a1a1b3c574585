"""Is a small print found in a large photograph?

A mosaic of the pictures in tiles/, some of them mirrored, shows one picture of models/ somewhere, turned and
a few pixels wide. This print counts as found if most matches of some object are right to within 5 px. Each
match runs in a separate process that reads two files; the table gives its CPU seconds, and the peak of its
memory.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from skimage.color import rgb2gray
from skimage.transform import AffineTransform, resize, warp
from tqdm import tqdm

from eval.common.measuring import Clock, peak_megabytes, run_apart
from eval.common.options import add_options, at_least
from eval.common.tables import format_markdown
from matching import MatchConfig, match
from matching.collection.plan import list_pictures
from matching.pictures.images import read_picture

NOISE = 2.0  # grey levels
TOLERANCE = 5.0  # pixels
COLUMNS = "width", "prints", "found", "s", "MB", "found at the working size", "s", "MB"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, "data", "seed")
    parser.add_argument(
        "--widths",
        type=at_least(8),
        nargs="+",
        default=[28, 36, 45, 60, 100, 200],
        help="widths of the prints, pixels (default: 28 36 45 60 100 200)",
    )
    parser.add_argument("--prints", type=at_least(1), default=5, help="prints of each width (default: 5)")
    parser.add_argument(
        "--megapixels", type=at_least(0.1, float), default=12.2, help="size of a photograph (default: 12.2)"
    )


def run(args: argparse.Namespace) -> None:
    prints, tiles = (
        [rgb2gray(read_picture(path).rgb) * 255 for path in sorted(list_pictures(args.data / name))]
        for name in ("models", "tiles")
    )
    height = round(np.sqrt(args.megapixels * 1e6 * 3 / 4))
    sizes = MatchConfig().max_pixels, MatchConfig().working_pixels
    rows = []
    for width in args.widths:
        results = []
        for n in tqdm(range(args.prints), desc=f"{width} px"):
            rng = np.random.default_rng([args.seed, width, n])
            photograph = draw_mosaic(tiles, height, height * 4 // 3, rng)
            print_ = prints[rng.integers(len(prints))]
            place = paste(photograph, print_, width, rng)
            photograph += rng.normal(0, NOISE, photograph.shape)
            results.append([measure(print_, photograph, place, size) for size in sizes])
        found, seconds, megabytes = np.array(results).transpose(2, 1, 0)  # (2, n) each, a row for a size
        cells = zip(found.sum(axis=1), seconds.mean(axis=1), megabytes.max(axis=1), strict=True)
        flat = [text for f, s, m in cells for text in (f"{f:.0f}", f"{s:.1f}", f"{m:.0f}")]
        rows.append((str(width), str(args.prints), *flat))
    print(format_markdown(COLUMNS, rows))


def draw_mosaic(
    tiles: list[NDArray], height: int, width: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """(h, w) of any of the tiles (h, w), some mirrored, in rows that are as high as their lowest tile."""
    mosaic, y = np.zeros((height, width)), 0
    while y < height:
        x, tall = 0, height
        while x < width:
            tile = tiles[rng.integers(len(tiles))][:, :: rng.choice([1, -1])]
            part = tile[: height - y, : width - x]
            mosaic[y : y + len(part), x : x + part.shape[1]] = part
            x, tall = x + tile.shape[1], min(tall, len(tile))
        y += tall
    return mosaic


def paste(mosaic: NDArray, print_: NDArray, width: int, rng: np.random.Generator) -> AffineTransform:
    """Draw a print into a mosaic, in place, a little turned; return the map of its pixels."""
    share = width / print_.shape[1]
    small = resize(print_, [round(n * share) for n in print_.shape], anti_aliasing=True, preserve_range=True)
    to_small = AffineTransform(scale=np.array(small.shape[::-1]) / print_.shape[::-1])
    reach = int(np.hypot(*small.shape)) + 2
    centred = AffineTransform(translation=-np.array(small.shape[::-1]) / 2)
    placed = centred + AffineTransform(rotation=rng.uniform(-0.6, 0.6), translation=(reach / 2, reach / 2))
    drawn, shown = (
        warp(image, placed.inverse, output_shape=(reach, reach), preserve_range=True)
        for image in (small, np.ones(small.shape))
    )
    x, y = (int(rng.integers(0, n - reach)) for n in mosaic.shape[::-1])
    under = mosaic[y : y + reach, x : x + reach]
    under[:] = under * (1 - shown) + drawn * shown
    return to_small + placed + AffineTransform(translation=(x, y))


def measure(print_: NDArray, photograph: NDArray, place: AffineTransform, max_pixels: int) -> tuple:
    """Whether the print is found, CPU seconds, and megabytes at the peak."""
    with TemporaryDirectory() as folder:
        paths = str(Path(folder) / "print.png"), str(Path(folder) / "photograph.jpg")
        for path, picture in zip(paths, (print_, photograph), strict=True):
            Image.fromarray(np.clip(np.rint(picture), 0, 255).astype(np.uint8)).save(path, quality=90)
        objects, seconds, megabytes = run_apart(match_files, *paths, max_pixels)
    right = (np.linalg.norm(place(xy0) - xy1, axis=1) < TOLERANCE for xy0, xy1 in objects)
    return any(near.mean() > 0.5 for near in right), seconds, megabytes


def match_files(path0: str, path1: str, max_pixels: int) -> tuple:
    """The objects of two files, each as its points in both, the CPU seconds of the match, and megabytes."""
    clock = Clock()
    objects = match(path0, path1, max_pixels=max_pixels).objects
    points = [(item.points0, item.points1) for item in objects]
    return points, clock.seconds().cpu, peak_megabytes()
