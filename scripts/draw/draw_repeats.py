"""Draw the picture of docs/repeats.md: photographs that a dependency ships, some of them several times.

Writes repeats.jpg: each place has an outline in the colour of its thing, and a number.
"""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
import sys
from pathlib import Path

import numpy as np
from PIL import Image

from eval.common.options import check_folder, exit_status
from matching import find_repeats
from matching._common import opencv
from matching.output.figures.drawing import colour
from matching.output.figures.lettering import draw_label
from synth.composite import fill_square
from synth.photographs import Picture, read_shipped

SIDE = 240
LAYOUT = ((0, 12, 3), (3, 3, 0), (14, 5, 17))  # numbers of photographs, row by row
TURNED = (0, 2)  # the place whose photograph is turned by a quarter


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("docs"), help="folder (default: docs)")
    args = parser.parse_args(argv)
    return exit_status(lambda: draw(args.out))


def draw(folder: Path) -> None:
    check_folder(folder)
    picture = montage()
    result = find_repeats(picture)
    for thing in result.things:
        for k, place in enumerate(thing.places):
            opencv.draw_polygon(picture, place, (0, 0, 0), 7)
            opencv.draw_polygon(picture, place, colour(thing.number), 4)
            middle = (place.min(axis=0) + place.max(axis=0)) / 2
            draw_label(picture, thing.name_place(k), middle, colour(thing.number), 24)
        print(f"thing {thing.number}: {len(thing.places)} places")
    Image.fromarray(picture).save(folder / "repeats.jpg", quality=85)


def montage() -> Picture:
    photographs = read_shipped()
    pictures = (*photographs.models, *photographs.tiles)
    rows = []
    for i, numbers in enumerate(LAYOUT):
        tiles = [fill_square(pictures[n], SIDE) for n in numbers]
        rows.append(np.hstack([np.rot90(t) if (i, j) == TURNED else t for j, t in enumerate(tiles)]))
    return np.ascontiguousarray(np.vstack(rows))


if __name__ == "__main__":
    sys.exit(main())
