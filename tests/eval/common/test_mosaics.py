import numpy as np
import pytest

from eval.common.mosaics import lay_mosaic


def test_tiles_lie_row_by_row():
    tiles = [np.full(shape, k) for k, shape in enumerate([(2, 3), (3, 2), (2, 2), (2, 9)], 1)]
    mosaic = lay_mosaic(iter(tiles), (3, 4), np.uint8)
    assert mosaic.dtype == np.uint8
    assert mosaic.tolist() == [[1, 1, 1, 2], [1, 1, 1, 2], [3, 3, 4, 4]]
    with pytest.raises(ValueError, match="too few"):
        lay_mosaic(iter(tiles[:3]), (3, 4))
