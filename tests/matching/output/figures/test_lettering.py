"""Labels in drawings."""

import numpy as np
import pytest

from matching.output.figures.lettering import draw_label, label_size


@pytest.mark.parametrize("size", [1, 12, 28.5])
def test_label_fills_only_the_box_around_its_centre(size):
    canvas = np.zeros((100, 120, 3), np.uint8)
    width, height = label_size("17", size)
    draw_label(canvas, "17", (60, 50), (250, 160, 0), size)
    rows, columns = np.nonzero((canvas == (250, 160, 0)).all(axis=2))
    assert (np.ptp(columns) + 1, np.ptp(rows) + 1) == (width, height)
    assert abs(columns.min() + columns.max() - 119) <= 2 and abs(rows.min() + rows.max() - 99) <= 2
    box = canvas[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
    assert box.min() < 60  # ink
    assert (box[0] == (250, 160, 0)).all() and (box[:, 0] == (250, 160, 0)).all()  # the rim has none


@pytest.mark.parametrize("centre", [(0, 0), (119, 99), (-40, 50), (60, 500)])
def test_label_is_cut_off_at_the_border(centre):
    large, small = np.zeros((900, 920, 3), np.uint8), np.zeros((100, 120, 3), np.uint8)
    draw_label(large, "3", np.add(centre, 400), (0, 200, 0), 30)
    draw_label(small, "3", centre, (0, 200, 0), 30)
    assert (small == large[400:500, 400:520]).all()
