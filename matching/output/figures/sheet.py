"""A contact sheet: pictures of one size in rows, each with a line of text below."""

from collections.abc import Sequence

import numpy as np

from matching._common.types import Bytes
from matching.output.figures.lettering import add_caption

MAX_PICTURES = 60  # on a sheet
N_COLUMNS = 4
PICTURE_WIDTH = 360  # pixels
GAP = 8  # pixels around each picture
FONT_SIZE = 15.0  # pixels


def lay_out_sheet(pictures: Sequence[Bytes], captions: Sequence[str]) -> Bytes:
    """Lay out pictures (h, w, 3) uint8 with their captions -> (h, w, 3) uint8."""
    cells = [add_caption(rgb, [text], FONT_SIZE) for rgb, text in zip(pictures, captions, strict=True)]
    n_columns = min(N_COLUMNS, len(cells))
    n_rows = -(-len(cells) // n_columns)
    height, width, _ = cells[0].shape
    sheet = np.full((n_rows * (height + 2 * GAP), n_columns * (width + GAP) + GAP, 3), 255, np.uint8)
    for k, cell in enumerate(cells):
        row, column = divmod(k, n_columns)
        y, x = GAP + row * (height + 2 * GAP), GAP + column * (width + GAP)
        sheet[y : y + height, x : x + width] = cell
    return sheet
