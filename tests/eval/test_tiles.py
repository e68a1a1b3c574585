"""Neighbours among the tiles of a picture."""

import numpy as np
import pytest
import skimage.data

from eval.collections.tiles import cut_tiles, fit_by_sift, map_point


def test_tiles_overlap_by_a_tenth():
    picture = np.tile(np.arange(255, dtype=np.uint8)[:, None, None], (1, 400, 3))
    tiles = cut_tiles(picture, 0)
    (tile, corner), (below, other) = tiles[0, 0], tiles[1, 0]
    assert len(tiles) == 36
    assert corner.tolist() == [0, 0]
    assert other[1] == pytest.approx(0.9 * tile.shape[0], abs=0.5)
    assert tile.shape == below.shape


def test_peer_finds_shift():
    stones = np.dstack([skimage.data.gravel()] * 3)
    found = fit_by_sift(stones[:200, :200], stones[20:220, 30:230])
    assert np.abs(map_point(found, np.array([100.0, 100.0])) - [70, 80]).max() < 0.2
    assert fit_by_sift(stones[:200, :200], np.zeros((200, 200, 3), np.uint8)) is None
