"""The contact sheet of a video: the best frame of each appearance, with outlines and times."""

import numpy as np

from matching._common import opencv
from matching._common.types import Bytes
from matching.output.figures.drawing import choose_frame, colour
from matching.output.figures.lettering import add_caption
from matching.video.search import WIDTH, Appearance, VideoResult

MOST = 60  # pictures on a sheet
COLUMNS = 4
SPACE = 8  # pixels around each picture
LETTERS = 15.0  # size of the font, pixels


def draw_contact_sheet(result: VideoResult) -> Bytes:
    """Draw the contact sheet of a video that shows the thing -> (h, w, 3) uint8."""
    best = sorted(result.appearances, key=lambda found: -found.best.score)[:MOST]
    chosen = sorted(best, key=lambda found: found.begin)
    cells = [_draw(found, result) for found in chosen]
    height, width, _ = cells[0].shape
    n_columns = min(COLUMNS, len(cells))
    n_rows = -(-len(cells) // n_columns)
    shape = n_rows * (height + 2 * SPACE), n_columns * (width + SPACE) + SPACE, 3
    sheet = np.full(shape, 255, np.uint8)
    for k, cell in enumerate(cells):
        row, column = divmod(k, n_columns)
        y, x = row * (height + 2 * SPACE) + SPACE, column * (width + SPACE) + SPACE
        sheet[y : y + height, x : x + width] = cell
    return sheet


def format_time(seconds: float) -> str:
    """Write a time in a video as minutes and seconds, with hours if needed."""
    tenths = round(seconds * 10)
    minutes, rest = divmod(tenths, 600)
    hours, minutes = divmod(minutes, 60)
    text = f"{rest // 10:02d}.{rest % 10}"
    return f"{hours}:{minutes:02d}:{text}" if hours else f"{minutes}:{text}"


def _draw(appearance: Appearance, result: VideoResult) -> Bytes:
    """(h, WIDTH, 3) the best frame of an appearance, with its time below."""
    canvas = opencv.resize(appearance.picture, WIDTH / appearance.picture.shape[1]).copy()
    factors = np.array(canvas.shape[1::-1]) / result.size
    for found in appearance.best.objects:
        frame = choose_frame(found)
        outline = found.outline1 if frame is None else frame
        opencv.draw_polygon(canvas, (outline + 0.5) * factors - 0.5, colour(found.id), 2)
    times = appearance.begin, appearance.end, appearance.best.seconds
    begin, end, at = (format_time(seconds) for seconds in times)
    caption = begin if begin == end else f"{begin} to {end} (here {at})"
    return add_caption(canvas, [caption], LETTERS)
