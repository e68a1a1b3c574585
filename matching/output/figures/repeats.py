"""The picture of repeats: each thing in a different colour, with numbered places."""

import numpy as np

from matching._common import opencv
from matching._common.types import Bytes
from matching.matches import Matches
from matching.output.figures import drawing
from matching.output.figures.lettering import add_caption
from matching.output.words import NOTHING_TWICE
from matching.pictures.images import Picture


def draw_result(picture0: Picture, picture1: Picture, result: Matches, *, explain: bool = False) -> Bytes:
    """Draw a result: two pictures side by side, or the places of the things in one -> (h, w, 3) uint8."""
    if result.of_one:
        return draw_repeats(picture0, result, explain=explain)
    return drawing.draw_matches(picture0, picture1, result, explain=explain)


def draw_repeats(picture: Picture, result: Matches, *, explain: bool = False) -> Bytes:
    """Draw the things that a picture shows more than once, with numbered places -> (h, w, 3) uint8."""
    rgb, factors = drawing.reduce(picture.displayed, drawing.fit_canvas(picture.width, picture.height))
    unit = max(rgb.shape[:2]) / 960
    places = [
        (
            thing.number,
            thing.name_place(k),
            drawing.zoom(np.asarray(place), factors),
        )
        for thing in result.things
        for k, place in enumerate(thing.places)
    ]
    canvas = drawing.fade_outside(rgb, [outline for *_, outline in places]) if places else rgb.copy()
    for found in result.objects:
        for end in (found.points0, found.points1):
            for point in drawing.zoom(end, factors):
                opencv.draw_disc(canvas, point, 2.2 * unit, drawing.colour(found.thing))
    for number, _, outline in places:
        opencv.draw_polygon(canvas, outline, (0, 0, 0), max(round(5 * unit), 3))
        opencv.draw_polygon(canvas, outline, drawing.colour(number), max(round(3 * unit), 1))
    most = drawing.MOST_REJECTED // 2  # each group has two places
    rejected = drawing.outline_rejected(result)[:most] if explain else []
    dropped = [(-1, name, drawing.zoom(outline, factors)) for name, *both in rejected for outline in both]
    for _, _, outline in dropped:
        drawing.draw_frame(canvas, outline, drawing.GREY, unit)
    drawing.draw_labels(canvas, [*places, *dropped], (0, 0), rgb.shape[1::-1], 28 * unit)
    return canvas if places else add_caption(canvas, [NOTHING_TWICE], 26 * unit)
