"""Large pictures made of small ones."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import DTypeLike, NDArray


def lay_mosaic(tiles: Iterator[NDArray], shape: Sequence[int], dtype: DTypeLike = np.float64) -> NDArray:
    """A picture of a shape (h, w) or (h, w, 3): tiles at their own size, row by row.

    A row is as high as its shortest tile. Raises ValueError if there are too few tiles.
    """
    height, width = shape[:2]
    mosaic, y = np.zeros(shape, dtype), 0
    while y < height:
        x, tall = 0, list[int]()
        while x < width:
            tile = next(tiles, None)
            if tile is None:
                raise ValueError(f"too few pictures for mosaics of {width} x {height} px: add pictures")
            part = tile[: height - y, : width - x]
            mosaic[y : y + len(part), x : x + part.shape[1]] = part
            x, tall = x + tile.shape[1], [*tall, len(tile)]
        y += min(tall)
    return mosaic
