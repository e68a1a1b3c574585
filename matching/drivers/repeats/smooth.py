"""Smooth things that one picture shows twice, found by their pixels: lanes of a blot, or panels out of focus.

Features lie at corners and spots, of which smooth things have few. So blocks of the reduced picture are
compared with all others, as they are, mirrored, and turned by right angles. Neighbouring blocks that lead the
same way propose a shift from the turned picture to the picture. Their pixels decide: copies are equal but for
the noise of compression, while two lanes or cells are only alike. Blocks with sharp edges are left to the
features: letters, axes and scale bars repeat in any figure.

Notation: a block covers SIDE x SIDE cells, and a cell `pitch` x `pitch` pixels; h x w blocks begin at each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.spatial import cKDTree

from matching._common import opencv
from matching._common.components import find_components
from matching._common.types import Array, Bools, Floats, Ints
from matching.correspondences.points import is_inside
from matching.pictures.images import Picture

SIDE = 8  # cells of a block
MIN_PITCH, MAX_CELLS = 4, 20_000  # pixels of a cell, and cells of a picture: limits the work
N_WAVES = 5  # across and along a block: what is smooth has no finer ones
MAX_SHARP = 24.0  # grey levels, second derivative; the edges of letters have more
MIN_DEVIATION = 1.2  # grey levels in a block: less is flat
ASIDE = (0, 2), (2, 0), (2, 2), (2, -2)  # cells down and right; along an edge, a block is alike there
MAX_ALIKE = 0.9  # correlation with the blocks aside
# Cells between blocks that are compared with all; of more blocks, fewer are compared, with none of those half
# a cell aside: limits the work.
STRIDE, MAX_FINE = 2, 7000
MIN_LEAD, MIN_LEADING = 0.95, 5  # correlation of a block with the best other one; neighbours that lead alike
LINK, MAX_TURN = 6.0, 1.5  # cells between neighbours, and by which their shifts differ
N_SAMPLED = 9  # blocks that measure a shift to the pixel
# Difference of equal blocks in the contrast of one of them: grey levels (standard deviation), and a share of
# that contrast. Drawn lanes shown again differ by up to .71 on average, alike ones by .92 and more.
MAX_OFF, MAX_OFF_SHARE = 1.0, 0.25
BRIDGE = 13  # cells between parts of one thing, such as bands
MIN_BLOCKS = 125  # that are equal; lanes shown again have 180 and more, pairs of alike bands up to 118
MAX_OVERLAP = 0.1  # share of a place that lies in its copy
SYMMETRIES = tuple(product((False, True), (1, -1), (1, -1)))  # transposed, then reversed down and across


@dataclass(frozen=True, eq=False)
class Blocks:
    """The blocks of a picture, without what is flat or a slope."""

    waves: Array  # (h, w, d) float32
    deviation: Array  # (h, w), grey levels

    @classmethod
    def cut(cls, grey: Array, pitch: int) -> Blocks:
        """Cut a picture, float32, into blocks."""
        rows, columns = (n // pitch for n in grey.shape)
        small = opencv.resize_area(
            np.ascontiguousarray(grey[: rows * pitch, : columns * pitch]), columns, rows
        )
        waves = _view(small).reshape(rows - SIDE + 1, columns - SIDE + 1, -1) @ WAVES
        return cls(waves, np.maximum(np.linalg.norm(waves, axis=2) / SIDE, 1e-3))

    def correlate(self, other: Blocks) -> Array:
        """The correlation of each block with the one at its place -> (h, w)."""
        products = (self.waves * other.waves).sum(axis=2)
        return np.asarray(products / (self.deviation * other.deviation * SIDE**2))

    def unit(self, use: Bools) -> Array:
        """Some blocks, of unit norm -> (n, d)."""
        return np.asarray(self.waves[use] / (self.deviation[use] * SIDE)[:, None])


def _list_waves() -> Array:
    """The waves of a block but the flat one and both slopes -> (SIDE**2, d) float32, orthonormal."""
    x = (np.arange(SIDE) + 0.5) / SIDE * 2 - 1
    along = np.linalg.qr(np.polynomial.legendre.legvander(x, N_WAVES - 1))[0].T
    pairs = product(range(N_WAVES), repeat=2)
    return np.array([np.outer(along[i], along[k]).ravel() for i, k in pairs if i + k > 1], np.float32).T


def _view(cells: Array) -> Array:
    """All blocks of cells -> (h, w, SIDE, SIDE)."""
    return np.lib.stride_tricks.sliding_window_view(cells, (SIDE, SIDE))


WAVES = _list_waves()


def find_smooth(picture: Picture) -> Iterator[tuple[Floats, Floats]]:
    """Find smooth things shown twice -> points (n, 2) of one place and the other."""
    grey, mask = opencv.luma(picture.rgb), picture.mask
    factor = int(math.sqrt(grey.size / MAX_CELLS) / MIN_PITCH) or 1  # of large pictures, reduced first
    if factor > 1:
        height, width = (n // factor for n in grey.shape)
        grey = opencv.resize_area(grey[: height * factor, : width * factor], width, height)
        mask = None if mask is None else mask[::factor, ::factor]
    grey = grey.astype(np.float32)
    pitch = max(MIN_PITCH, math.ceil(math.sqrt(grey.size / MAX_CELLS)))
    height, width = (n // pitch * pitch for n in grey.shape)
    if min(height, width) < 2 * SIDE * pitch:
        return
    grey = np.ascontiguousarray(grey[:height, :width])
    use = _find_telling(grey, mask, pitch)
    # Blocks half a cell aside, too: misplaced by so much, other bands are as alike as the copy.
    phases, stride = np.array(list(product((0.0, 0.5), repeat=2))), STRIDE
    if np.count_nonzero(use) > MAX_FINE:
        phases, stride = phases[:1], STRIDE + 1
    aside = [np.pad(grey, ((0, y), (0, x)), "edge")[y:, x:] for y, x in (phases * pitch).astype(int)]
    units = np.concatenate([Blocks.cut(one, pitch).unit(use) for one in aside])
    to = (np.argwhere(use) + phases[:, None]).reshape(-1, 2).astype(np.float32)
    origins = np.moveaxis(np.indices(use.shape, np.float32), 0, 2)
    for symmetry in SYMMETRIES if len(to) else ():
        turned, of_turned, origin = (_turn(one, symmetry) for one in (grey, use, origins))
        is_first = np.zeros(of_turned.shape, bool)
        is_first[::stride, ::stride] = of_turned[::stride, ::stride]
        lead = np.argwhere(is_first)
        units0, begin = Blocks.cut(turned, pitch).unit(is_first), origin[is_first]
        best, is_lead = _find_leads(units0, units, begin if symmetry == SYMMETRIES[0] else None, to)
        shift = to[best]
        is_lead &= (np.abs(shift - begin) >= SIDE).any(axis=1)
        lead, shift = lead[is_lead], (shift - lead)[is_lead]
        if len(lead) < MIN_LEADING:
            continue
        tree = cKDTree(np.column_stack([lead / LINK, shift / MAX_TURN]))
        label = find_components(len(lead), tree.query_pairs(1.0, output_type="ndarray"))
        for part in (label == k for k in np.flatnonzero(np.bincount(label) >= MIN_LEADING)):
            near = _measure_shift(turned, grey, lead[part] * pitch, np.median(shift[part], axis=0), pitch)
            rows = _find_equal(turned, grey, of_turned, lead[part], near, pitch)
            if len(rows):
                half = (SIDE * pitch - 1) / 2
                ends = origin[tuple(rows.T)] * pitch + half, rows * pitch + near + half
                xy0, xy1 = (np.asarray((one[:, ::-1] + 0.5) * factor - 0.5, float) for one in ends)
                if max(is_inside(xy0, xy1).mean(), is_inside(xy1, xy0).mean()) <= MAX_OVERLAP:
                    yield xy0, xy1


def _turn(values: Array, symmetry: tuple[bool, int, int]) -> Array:
    """Turn an array by a symmetry of the square."""
    transposed, down, right = symmetry
    return np.ascontiguousarray((values.swapaxes(0, 1) if transposed else values)[::down, ::right])


def _find_telling(grey: Array, mask: Bools | None, pitch: int) -> Bools:
    """Find the blocks that are smooth, not flat, and unlike those aside -> (h, w)."""
    blocks, sharp = Blocks.cut(grey, pitch), np.abs(opencv.laplacian(opencv.gaussian_blur(grey, 1.0)))
    if mask is not None:
        sharp[~mask[: grey.shape[0], : grey.shape[1]]] = math.inf
    rows, columns = (n // pitch for n in grey.shape)
    cells = sharp.reshape(rows, pitch, columns, pitch).max(axis=(1, 3))
    use = (_view(cells).max(axis=(2, 3)) <= MAX_SHARP) & (blocks.deviation >= MIN_DEVIATION)
    for y, x in ASIDE:
        moved = Blocks(*(np.roll(one, (y, x), axis=(0, 1)) for one in (blocks.waves, blocks.deviation)))
        is_alike = blocks.correlate(moved) > MAX_ALIKE
        use &= ~(is_alike | np.roll(is_alike, (-y, -x), axis=(0, 1)))
    return np.asarray(use)


def _find_leads(units0: Array, units1: Array, begin: Array | None, to: Array) -> tuple[Ints, Bools]:
    """Find the most similar of blocks: units0 (n, d), units1 (m, d) -> which (n,), and whether it is alike.

    begin (n, 2), to (m, 2): the places of the blocks, cells; None if a block need not lie apart.
    """
    best, correlation = np.zeros(len(units0), np.int64), np.zeros(len(units0))
    for start in range(0, len(units0), 256):
        rows = slice(start, start + 256)
        products = units0[rows] @ units1.T
        if begin is not None:
            products[(np.abs(begin[rows, None] - to) < SIDE).all(axis=2)] = -1
        best[rows] = products.argmax(axis=1)
        correlation[rows] = products[np.arange(len(products)), best[rows]]
    return best, correlation >= MIN_LEAD


def _measure_shift(turned: Array, grey: Array, lead: Ints, shift: Floats, pitch: int) -> Ints:
    """Measure the shift (2,) of blocks, lead (n, 2) in pixels, from about which it is, in cells."""
    side, reach, found = SIDE * pitch, pitch + 2, []
    for y, x in lead[:: -(-len(lead) // N_SAMPLED)]:
        low = np.maximum(np.rint([y, x] + shift * pitch).astype(int) - reach, 0)
        area = grey[low[0] :, low[1] :][: side + 2 * reach, : side + 2 * reach]
        peaks = opencv.correlate_template(area, turned[y : y + side, x : x + side])
        found.append(np.array(np.unravel_index(peaks.argmax(), peaks.shape)) + low - [y, x])
    return np.asarray(np.rint(np.median(found, axis=0)), np.int64)


def _find_equal(turned: Array, grey: Array, use: Bools, lead: Ints, shift: Ints, pitch: int) -> Ints:
    """Find the blocks around lead (n, 2) that are equal after a shift -> (k, 2).

    There are none if they are too few.
    """
    first = -(np.minimum(shift, 0) // pitch)  # cells before which the shift leaves the picture
    y, x = first * pitch + shift
    parts = turned[first[0] * pitch :, first[1] * pitch :], grey[y:, x:]
    height, width = np.min([part.shape for part in parts], axis=0)
    none = lead[:0]
    if min(height, width) < SIDE * pitch:
        return none
    a, b = (Blocks.cut(part[:height, :width], pitch) for part in parts)
    use = use[first[0] :, first[1] :][: a.deviation.shape[0], : a.deviation.shape[1]]
    seeds = lead - first
    seeds = tuple(seeds[((seeds >= 0) & (seeds < use.shape)).all(axis=1)].T)
    gain = float(np.median(a.deviation[seeds] / b.deviation[seeds])) if len(seeds[0]) else 1.0
    off = np.linalg.norm(a.waves - gain * b.waves, axis=2) / SIDE
    is_equal = use & (off <= np.minimum(MAX_OFF, MAX_OFF_SHARE * a.deviation))
    label = opencv.box_components(opencv.dilate(is_equal, BRIDGE))[0]
    is_equal &= (label > 0) & (label == np.bincount(np.append(label[seeds], 0)).argmax())
    if is_equal.sum() < MIN_BLOCKS:
        return none
    return np.asarray(np.argwhere(is_equal) + first, np.int64)
