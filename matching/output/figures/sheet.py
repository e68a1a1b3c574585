"""A contact sheet: pictures of one size in rows, each with a line of text below."""

from collections.abc import Sequence

import numpy as np

from matching._common.types import Bytes
from matching.output.figures.lettering import add_caption

MOST = 60  # pictures on a sheet
COLUMNS = 4
WIDTH = 360  # pixels of a picture
SPACE = 8  # pixels around each picture
LETTERS = 15.0  # size of the font, pixels


def lay_out_sheet(pictures: Sequence[Bytes], captions: Sequence[str]) -> Bytes:
    """Lay out pictures (h, w, 3) uint8 with their captions -> (h, w, 3) uint8."""
    cells = [
        add_caption(*pair, LETTERS) for pair in zip(pictures, ([text] for text in captions), strict=True)
    ]
    n_columns = min(COLUMNS, len(cells))
    return np.concatenate(
        [_lay_out(cells[k : k + n_columns], n_columns) for k in range(0, len(cells), n_columns)]
    )


def _lay_out(cells: Sequence[Bytes], n_columns: int) -> Bytes:
    height, width, _ = cells[0].shape
    row = np.full((height + 2 * SPACE, n_columns * (width + SPACE) + SPACE, 3), 255, np.uint8)
    for k, cell in enumerate(cells):
        x = SPACE + k * (width + SPACE)
        row[SPACE : SPACE + height, x : x + width] = cell
    return row
