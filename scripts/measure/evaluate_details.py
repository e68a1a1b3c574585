"""Whether a small print is found in a large photograph: evaluate_details.py --data DIR.

A mosaic of the pictures in DIR/tiles, some of them turned over, shows one picture of DIR/models somewhere,
turned, a few pixels wide. A print is found if most matches of some object are right within 5 px. Seconds are
those of the processor.
"""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
import resource
import sys
import time
from pathlib import Path

import numpy as np
from skimage.color import rgb2gray
from skimage.transform import AffineTransform, resize, warp
from tqdm import tqdm

from eval.common.options import check_least, exit_status
from eval.common.tables import format_markdown
from matching import MatchConfig, match
from matching.collection.plan import list_pictures
from matching.pictures.images import read_picture

NOISE = 2.0  # grey levels
TOLERANCE = 5.0  # pixels
COLUMNS = ("width", "prints", "found", "found at the working size", "s", "s at the working size")


def make_mosaic(tiles, width, height, rng):
    """(h, w) float: tiles at their own size, row by row."""
    mosaic, y = np.zeros((height, width)), 0
    while y < height:
        x, tall = 0, []
        while x < width:
            tile = tiles[rng.integers(len(tiles))][:, :: rng.choice([1, -1])]
            part = tile[: height - y, : width - x]
            mosaic[y : y + len(part), x : x + part.shape[1]] = part
            x, tall = x + tile.shape[1], [*tall, len(tile)]
        y += min(tall)
    return mosaic


def paste(mosaic, print_, width, rng):
    """Draw a print into a mosaic, in place, a little turned; the map (3, 3) of its pixels."""
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
    return (to_small + placed + AffineTransform(translation=(x, y))).params


def is_found(result, to_photograph):
    """Whether most matches of some object are right."""
    place = AffineTransform(matrix=to_photograph)
    return any(
        np.mean(np.linalg.norm(place(found.points0) - found.points1, axis=1) < TOLERANCE) > 0.5
        for found in result.objects
    )


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    text = "a folder with models and tiles, see docs/data.md"
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help=text)
    parser.add_argument(
        "--widths",
        type=int,
        nargs="+",
        default=[28, 36, 45, 60, 100, 200],
        help="of the prints, pixels (default: 28 36 45 60 100 200)",
    )
    parser.add_argument("--prints", type=int, default=5, help="of each width (default: 5)")
    parser.add_argument("--megapixels", type=float, default=12.2, help="of the photographs (default: 12.2)")
    parser.add_argument("--seed", type=int, default=0, help="(default: 0)")
    options = parser.parse_args(argv)
    return exit_status(lambda: measure(options))


def measure(options):
    check_least(options, prints=1, megapixels=0.1, seed=0)
    prints, tiles = (
        [rgb2gray(read_picture(path).rgb) * 255 for path in sorted(list_pictures(options.data / name))]
        for name in ("models", "tiles")
    )
    height = round(np.sqrt(options.megapixels * 1e6 * 3 / 4))
    rows = []
    for width in options.widths:
        found, seconds = np.zeros(2, int), np.zeros(2)
        for n in tqdm(range(options.prints), desc=f"{width} px"):
            rng = np.random.default_rng([options.seed, width, n])
            mosaic, print_ = (
                make_mosaic(tiles, height * 4 // 3, height, rng),
                prints[rng.integers(len(prints))],
            )
            place = paste(mosaic, print_, width, rng)
            photograph = np.clip(np.rint(mosaic + rng.normal(0, NOISE, mosaic.shape)), 0, 255).astype(
                np.uint8
            )
            for k, config in enumerate((MatchConfig(), MatchConfig(max_pixels=MatchConfig().working_pixels))):
                begun = time.process_time()
                found[k] += is_found(match(print_.astype(np.uint8), photograph, config), place)
                seconds[k] += time.process_time() - begun
        cells = str(options.prints), *map(str, found), *(f"{s / options.prints:.1f}" for s in seconds)
        rows.append((str(width), *cells))
    print(format_markdown(COLUMNS, rows))
    print(f"memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")


if __name__ == "__main__":
    sys.exit(main())
