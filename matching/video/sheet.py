"""The contact sheet of a video: the best frame of each appearance, what it shows outlined, and when."""

from collections.abc import Sequence

import numpy as np

from matching._common import opencv
from matching._common.types import Bytes
from matching.output.figures.drawing import choose_frame, colour
from matching.output.figures.lettering import add_caption
from matching.video.search import WIDTH, Appearance, VideoResult

COLUMNS, MOST = 4, 60  # frames in a row, and on the sheet: of more appearances, those of highest score
SPACE = 8  # pixels around each
LETTERS = 15.0  # pixels


def draw_contact_sheet(result: VideoResult) -> Bytes:
    """Draw the contact sheet of a video that shows the thing -> (h, w, 3) uint8."""
    cells = [_draw(appearance, result) for appearance in _choose(result.appearances)]
    n_columns = min(COLUMNS, len(cells))
    rows = [cells[k : k + n_columns] for k in range(0, len(cells), n_columns)]
    return np.concatenate([_lay_out(row, n_columns) for row in rows])


def format_time(seconds: float) -> str:
    """Write a time in a video as minutes and seconds, with hours if needed."""
    tenths = round(seconds * 10)
    minutes, rest = divmod(tenths, 600)
    hours, minutes = divmod(minutes, 60)
    text = f"{rest // 10:02d}.{rest % 10}"
    return f"{hours}:{minutes:02d}:{text}" if hours else f"{minutes}:{text}"


def _choose(appearances: Sequence[Appearance]) -> list[Appearance]:
    best = sorted(appearances, key=lambda found: -found.best.score)[:MOST]
    return sorted(best, key=lambda found: found.begin)


def _draw(appearance: Appearance, result: VideoResult) -> Bytes:
    """(h, WIDTH, 3) the best frame of an appearance, with a line below."""
    canvas = opencv.resize(appearance.picture, WIDTH / appearance.picture.shape[1]).copy()
    factors = np.array(canvas.shape[1::-1]) / result.size
    for found in appearance.best.objects:
        frame = choose_frame(found)
        outline = found.outline1 if frame is None else frame
        opencv.draw_polygon(canvas, (outline + 0.5) * factors - 0.5, colour(found.id), 2)
    begin, end, at = (
        format_time(seconds) for seconds in (appearance.begin, appearance.end, appearance.best.seconds)
    )
    return add_caption(canvas, [begin if begin == end else f"{begin} to {end} (here {at})"], LETTERS)


def _lay_out(cells: Sequence[Bytes], n_columns: int) -> Bytes:
    height, width, _ = cells[0].shape
    row = np.full((height + 2 * SPACE, n_columns * (width + SPACE) + SPACE, 3), 255, np.uint8)
    for k, cell in enumerate(cells):
        x = SPACE + k * (width + SPACE)
        row[SPACE : SPACE + height, x : x + width] = cell
    return row
