"""Does an object stay whole if it is much larger in one picture? evaluate_magnification.py FOLDER...

Each picture, at 1,400 px, is matched with itself made several times smaller. A match is true if it is off by
less than 3 px in the smaller picture.
"""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
import sys
from pathlib import Path

import numpy as np
from skimage.transform import resize
from tqdm import tqdm

from eval.common.options import check_least, exit_status
from eval.common.tables import format_markdown
from matching._common.threads import default_threads
from matching.collection.plan import list_pictures
from matching.pictures.images import make_picture_of_array, read_picture, to_picture
from matching.pipelines.description import describe_picture
from matching.pipelines.pair import match_described

LONGER_SIDE = 1400  # pixels of the larger picture
TOLERANCE = 3.0  # pixels of the smaller one
COLUMNS = ("times smaller", "pictures", "objects", "matches", "true", "in the largest object")


def scale(rgb, longer_side):
    """(h, w, 3) uint8: a picture scaled to this longer side."""
    factor = longer_side / max(rgb.shape[:2])
    shape = [max(round(n * factor), 1) for n in rgb.shape[:2]]
    return np.rint(resize(rgb, shape, order=3, anti_aliasing=factor < 1, preserve_range=True)).astype(
        np.uint8
    )


def counts(large, times):
    """The numbers of objects, of matches, of true matches, and of matches in the largest object."""
    small = scale(large, LONGER_SIDE / times)
    described = [
        describe_picture(make_picture_of_array(rgb), n_threads=default_threads()) for rgb in (large, small)
    ]
    result = match_described(*described)
    kept = result.cluster >= 0
    share = np.array(small.shape[1::-1]) / large.shape[1::-1]
    there = to_picture(result.xy0[kept], share)
    true = np.abs(there - result.xy1[kept]).max(axis=1, initial=0.0) < TOLERANCE
    return len(result.objects), kept.sum(), true.sum(), max((o.n_matches for o in result.objects), default=0)


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="folders of pictures")
    parser.add_argument(
        "--times",
        type=float,
        nargs="+",
        default=[3, 5, 7, 9],
        help="how many times smaller (default: 3 5 7 9)",
    )
    parser.add_argument(
        "--pictures", type=int, default=6, help="use the first N pictures of each folder (default: 6)"
    )
    options = parser.parse_args(argv)
    return exit_status(lambda: measure(options))


def measure(options):
    check_least(options, times=1, pictures=1)
    paths = [path for folder in options.folders for path in sorted(list_pictures(folder))[: options.pictures]]
    large = [scale(read_picture(path).rgb, LONGER_SIDE) for path in tqdm(paths, desc="pictures")]
    rows = [
        [
            f"{times:g}",
            str(len(large)),
            *map(str, np.sum([counts(rgb, times) for rgb in tqdm(large)], axis=0)),
        ]
        for times in options.times
    ]
    print(format_markdown(COLUMNS, rows))


if __name__ == "__main__":
    sys.exit(main())
