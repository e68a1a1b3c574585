"""How many key points are found again in turned, scaled and noisy copies, compared with OpenCV's?

evaluate_keypoints.py FOLDER...

Without a folder, photographs that scikit-image ships are used. Times are for one thread.
"""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
import sys
import time
from pathlib import Path

import numpy as np
import skimage.data
from tqdm import tqdm

from eval.common.options import exit_status
from eval.common.tables import format_markdown
from eval.matching.photographs.repeatability import DETECTORS, detect, found_again, turned_copy
from matching._common.threads import limit_threads
from matching.collection.plan import list_pictures
from matching.pictures.images import make_picture_of_array, read_picture

COPIES = ((0.3, 1.0), (-0.5, 0.9), (1.2, 1.15), (0.1, 0.8))  # radians, scale
SHIPPED = ("astronaut", "camera", "chelsea", "coffee", "rocket")
COLUMNS = ("detector", "key points", "found again", "error, px (median)", "seconds a picture")


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER", help="folders of pictures")
    options = parser.parse_args(argv)
    with limit_threads(1):
        return exit_status(lambda: evaluate(options.folders))


def evaluate(folders):
    greys = [read_picture(path).grey for folder in folders for path in list_pictures(folder)]
    greys = greys or [make_picture_of_array(getattr(skimage.data, name)()).grey for name in SHIPPED]
    gaps = {name: [] for name in DETECTORS}
    numbers, seconds = dict.fromkeys(DETECTORS, 0), dict.fromkeys(DETECTORS, 0.0)
    for grey in tqdm(greys, "pictures"):
        rng = np.random.default_rng(0)
        copies = [turned_copy(grey, angle, scale, rng) for angle, scale in COPIES]
        for name in DETECTORS:
            detect(name, grey)
            start = time.perf_counter()
            here = detect(name, grey)
            seconds[name] += time.perf_counter() - start
            numbers[name] += len(here[0])
            for copy, matrix in copies:
                gaps[name].append(found_again(here, detect(name, copy), matrix, copy.shape))
    rows = []
    for name in DETECTORS:
        gap = np.concatenate(gaps[name])
        again = np.isfinite(gap)
        number, time_each = numbers[name] / len(greys), seconds[name] / len(greys)
        error = np.median(gap[again]) if again.any() else np.nan
        share = again.mean() if len(gap) else 0.0
        rows.append((name, f"{number:.0f}", f"{share:.1%}", f"{error:.2f}", f"{time_each:.3f}"))
    print(format_markdown(COLUMNS, rows))


if __name__ == "__main__":
    sys.exit(main())
