"""Where an object differs: only inside what both pictures show."""

from types import SimpleNamespace

import numpy as np
import pytest

from matching._common import opencv
from matching.agreement.overlay import find_places
from matching.agreement.windows import WINDOW

ROWS, COLUMNS = np.indices((90, 120))


@pytest.mark.parametrize("edge", ["hull", "seen"])
def test_places_lie_inside_what_is_compared(edge):
    everywhere = np.ones(ROWS.shape, bool)
    part = (COLUMNS > 8) & (COLUMNS < 110) & (ROWS > 8) & (ROWS < 80)
    part &= 2 * np.abs(COLUMNS - 60) > ROWS - 40  # a notch
    masks = {"hull": everywhere, "seen": everywhere} | {edge: part}
    windows = SimpleNamespace(comparable=everywhere, lone=~everywhere)
    inside = opencv.erode(part, WINDOW)
    for unlike in (everywhere, opencv.erode(inside, 9) ^ everywhere, COLUMNS > 60):
        ratio = np.where(unlike, 5.0, -5.0)
        places = list(find_places(SimpleNamespace(**masks), windows, ratio))
        assert all((place <= inside).all() for place in places)
        assert places or unlike is not everywhere
