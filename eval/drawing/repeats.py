"""Draw the picture of docs/repeats.md: photographs that a dependency ships, some of them several times.

Writes repeats.jpg: each place has an outline in the colour of its thing, and a number.
"""

import argparse

import numpy as np
from PIL import Image

from eval.common.options import add_options
from matching import find_repeats
from matching._common import opencv
from matching.output.figures.drawing import colour
from matching.output.figures.lettering import draw_label
from synth.composite import fill_square
from synth.photographs import Picture, read_shipped

SIDE = 240
LAYOUT = ((0, 12, 3), (3, 3, 0), (14, 5, 17))  # numbers of photographs, row by row
TURNED = (0, 2)  # the place whose photograph is turned by a quarter


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, out="docs")


def run(args: argparse.Namespace) -> None:
    picture = montage()
    result = find_repeats(picture)
    for thing in result.things:
        for k, place in enumerate(thing.places):
            opencv.draw_polygon(picture, place, (0, 0, 0), 7)
            opencv.draw_polygon(picture, place, colour(thing.number), 4)
            middle = (place.min(axis=0) + place.max(axis=0)) / 2
            draw_label(picture, thing.name_place(k), middle, colour(thing.number), 24)
        print(f"thing {thing.number}: {len(thing.places)} places")
    Image.fromarray(picture).save(args.out / "repeats.jpg", quality=85)


def montage() -> Picture:
    """Squares of photographs, row by row."""
    photographs = read_shipped()
    pictures = (*photographs.models, *photographs.tiles)
    rows = []
    for i, numbers in enumerate(LAYOUT):
        tiles = [fill_square(pictures[n], SIDE) for n in numbers]
        rows.append(np.hstack([np.rot90(t) if (i, j) == TURNED else t for j, t in enumerate(tiles)]))
    return np.ascontiguousarray(np.vstack(rows))
