"""The contact sheet of a video: the best frame of each appearance, with outlines and times."""

from collections.abc import Sequence

import numpy as np

from matching._common import opencv
from matching._common.types import Bytes
from matching.output.figures.drawing import choose_frame, colour
from matching.output.figures.lettering import add_caption
from matching.video.search import PICTURE_WIDTH, Appearance, VideoResult

MAX_PICTURES = 60  # on a sheet
N_COLUMNS = 4
GAP = 8  # pixels around each picture
FONT_SIZE = 15.0  # pixels


def draw_contact_sheet(result: VideoResult) -> Bytes:
    """Draw the contact sheet of a video that shows the thing -> (h, w, 3) uint8."""
    chosen = _choose(result.appearances)
    return lay_out_sheet([_draw(found, result) for found in chosen], [_caption(found) for found in chosen])


def format_time(seconds: float) -> str:
    """Write a time in a video as minutes and seconds, with hours if needed."""
    tenths = round(seconds * 10)
    minutes, rest = divmod(tenths, 600)
    hours, minutes = divmod(minutes, 60)
    text = f"{rest // 10:02d}.{rest % 10}"
    return f"{hours}:{minutes:02d}:{text}" if hours else f"{minutes}:{text}"


def _choose(appearances: Sequence[Appearance]) -> list[Appearance]:
    best = sorted(appearances, key=lambda found: -found.best.score)[:MAX_PICTURES]
    return sorted(best, key=lambda found: found.begin)


def _draw(appearance: Appearance, result: VideoResult) -> Bytes:
    """Draw the best frame of an appearance with its outlines -> (h, PICTURE_WIDTH, 3)."""
    canvas = opencv.resize(appearance.picture, PICTURE_WIDTH / appearance.picture.shape[1]).copy()
    factors = np.array(canvas.shape[1::-1]) / result.size
    for found in appearance.best.objects:
        frame = choose_frame(found)
        outline = found.outline1 if frame is None else frame
        opencv.draw_polygon(canvas, (outline + 0.5) * factors - 0.5, colour(found.id), 2)
    return canvas


def _caption(appearance: Appearance) -> str:
    begin, end, best = (
        format_time(seconds) for seconds in (appearance.begin, appearance.end, appearance.best.seconds)
    )
    return begin if begin == end else f"{begin} to {end} (here {best})"


def lay_out_sheet(pictures: Sequence[Bytes], captions: Sequence[str]) -> Bytes:
    """Lay out pictures (h, w, 3) uint8 with their captions -> (h, w, 3) uint8."""
    cells = [add_caption(rgb, [text], FONT_SIZE) for rgb, text in zip(pictures, captions, strict=True)]
    n_columns = min(N_COLUMNS, len(cells))
    n_rows = -(-len(cells) // n_columns)
    height, width = max(map(len, cells)), cells[0].shape[1]
    sheet = np.full((n_rows * (height + 2 * GAP), n_columns * (width + GAP) + GAP, 3), 255, np.uint8)
    for k, cell in enumerate(cells):
        row, column = divmod(k, n_columns)
        y, x = GAP + row * (height + 2 * GAP), GAP + column * (width + GAP)
        sheet[y : y + len(cell), x : x + width] = cell
    return sheet
