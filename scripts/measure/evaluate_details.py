"""Is a small print found in a large photograph? evaluate_details.py --data DIR.

A mosaic of the pictures in DIR/tiles, some of them mirrored, shows one picture of DIR/models somewhere,
turned and a few pixels wide. This print counts as found if most matches of some object are right to within 5
px. Each match runs in a separate process that reads two files; the table gives the CPU seconds of the whole
process, and the peak of its memory.
"""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image
from skimage.color import rgb2gray
from skimage.transform import AffineTransform, resize, warp
from tqdm import tqdm

from eval.common.mosaics import lay_mosaic
from eval.common.options import check_least, exit_status
from eval.common.tables import format_markdown
from matching import MatchConfig
from matching.collection.plan import list_pictures
from matching.pictures.images import read_picture

NOISE = 2.0  # grey levels
TOLERANCE = 5.0  # pixels
COLUMNS = "width", "prints", "found", "s", "MB", "found at the working size", "s", "MB"
RUN = """
import json, sys, time
from matching import match

result = match(sys.argv[1], sys.argv[2], max_pixels=int(sys.argv[3]))
status = open("/proc/self/status").read()  # getrusage would also count what the parent took
points = [[item.points0.tolist(), item.points1.tolist()] for item in result.objects]
print(json.dumps([points, time.process_time(), int(status.split("VmHWM:")[1].split()[0]) / 1024]))
"""


def draw_tiles(tiles, rng):
    """Yield any of the tiles, (h, w) float, as it is or mirrored, without end."""
    while True:
        yield tiles[rng.integers(len(tiles))][:, :: rng.choice([1, -1])]


def paste(mosaic, print_, width, rng):
    """Draw a print into a mosaic, in place, a little turned; return the map (3, 3) of its pixels."""
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


def run(print_, photograph, max_pixels):
    """The objects of two files, each as its points in both, and the seconds and megabytes of the match."""
    paths = map(str, (print_, photograph))
    told = subprocess.run(
        [sys.executable, "-c", RUN, *paths, str(max_pixels)], capture_output=True, text=True, check=True
    )
    return json.loads(told.stdout)


def is_found(objects, to_photograph):
    """Whether most matches of some object are right."""
    place = AffineTransform(matrix=to_photograph)
    return any(
        np.mean(np.linalg.norm(place(np.array(xy0)) - np.array(xy1), axis=1) < TOLERANCE) > 0.5
        for xy0, xy1 in objects
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
        help="widths of the prints, pixels (default: 28 36 45 60 100 200)",
    )
    parser.add_argument("--prints", type=int, default=5, help="prints of each width (default: 5)")
    parser.add_argument(
        "--megapixels", type=float, default=12.2, help="size of the photographs (default: 12.2)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the mosaics and prints (default: 0)")
    options = parser.parse_args(argv)
    return exit_status(lambda: measure(options))


def measure(options):
    check_least(options, prints=1, megapixels=0.1, seed=0)
    prints, tiles = (
        [rgb2gray(read_picture(path).rgb) * 255 for path in sorted(list_pictures(options.data / name))]
        for name in ("models", "tiles")
    )
    height = round(np.sqrt(options.megapixels * 1e6 * 3 / 4))
    sizes = MatchConfig().max_pixels, MatchConfig().working_pixels
    rows = []
    for width in options.widths:
        found, seconds, megabytes = np.zeros(2, int), np.zeros(2), np.zeros(2)
        for n in tqdm(range(options.prints), desc=f"{width} px"):
            rng = np.random.default_rng([options.seed, width, n])
            mosaic = lay_mosaic(draw_tiles(tiles, rng), (height, height * 4 // 3))
            print_ = prints[rng.integers(len(prints))]
            place = paste(mosaic, print_, width, rng)
            photograph = np.clip(np.rint(mosaic + rng.normal(0, NOISE, mosaic.shape)), 0, 255)
            with TemporaryDirectory() as folder:
                paths = Path(folder) / "print.png", Path(folder) / "photograph.jpg"
                for path, picture in zip(paths, (print_, photograph), strict=True):
                    Image.fromarray(picture.astype(np.uint8)).save(path, quality=90)
                for k, most in enumerate(sizes):
                    objects, spent, taken = run(*paths, most)
                    found[k] += is_found(objects, place)
                    seconds[k] += spent
                    megabytes[k] = max(megabytes[k], taken)
        cells = [(str(found[k]), f"{seconds[k] / options.prints:.1f}", f"{megabytes[k]:.0f}") for k in (0, 1)]
        rows.append((str(width), str(options.prints), *cells[0], *cells[1]))
    print(format_markdown(COLUMNS, rows))


if __name__ == "__main__":
    sys.exit(main())
