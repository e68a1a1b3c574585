"""Compiled loops of the search, as `codes` and `search` define them."""

import numpy as np

from gdl_core._common.jit import inner, njit
from matching._common.types import Array, Scalar


@inner
def _squared_distances(descriptor: Array, words: Array, out: Array) -> None:
    """Squared distances of each part of a descriptor (128,) int32 to its words (parts, width, w) int32."""
    parts, width, n_words = words.shape
    for part in range(parts):
        row = out[part]
        row[:] = 0
        for k in range(width):
            value, column = descriptor[part * width + k], words[part, k]
            for word in range(n_words):
                step = value - column[word]
                row[word] += step * step


@njit
def nearest_words(descriptors: Array, words: Array, start: Scalar, stop: Scalar, out: Array) -> None:
    """The word nearest to each part of descriptors[start:stop]; of equally near ones the first.

    descriptors : (n, 128) int32
    words : (parts, 128 / parts, w) int32
    out : (n, parts) uint8
    """
    table = np.empty((words.shape[0], words.shape[2]), np.int32)
    for i in range(start, stop):
        _squared_distances(descriptors[i], words, table)
        for part in range(words.shape[0]):
            out[i, part] = np.argmin(table[part])


@njit
def nearest_cells(near: Array, to_first: Array, cross: Array, to_second: Array, out: Array) -> None:
    """The cells with the smallest to_first + cross - 2 to_second, of equal ones the smaller numbers.

    near : (n, f) int64, first centres to consider; to_first : (n, f) their distances
    cross : (256, 256), to_second : (n, 256)
    out : (n, p) int64, of cells 256 i + j, the nearest first
    """
    most = out.shape[1]
    distances = np.empty(most)
    for row in range(len(near)):
        cells, filled = out[row], 0
        for k in range(near.shape[1]):
            i = near[row, k]
            for j in range(cross.shape[1]):
                distance = to_first[row, k] + cross[i, j] - 2 * to_second[row, j]
                cell = cross.shape[1] * i + j
                if filled == most and (
                    distance > distances[most - 1]
                    or (distance == distances[most - 1] and cell > cells[most - 1])
                ):
                    continue
                place = min(filled, most - 1)
                while place > 0 and (
                    distances[place - 1] > distance
                    or (distances[place - 1] == distance and cells[place - 1] > cell)
                ):
                    distances[place], cells[place] = distances[place - 1], cells[place - 1]
                    place -= 1
                distances[place], cells[place] = distance, cell
                filled = min(filled + 1, most)


@njit
def search(
    descriptors: Array,
    shapes: Array,
    words: Array,
    begin: Array,
    end: Array,
    owner: Array,
    shape: Array,
    code: Array,
    but: Array,
    start: Scalar,
    stop: Scalar,
    out_distance: Array,
    out_other: Array,
) -> None:
    """The nearest entries in the lists of descriptors[start:stop], sorted by (distance, owner, shape).

    descriptors : (n, 128) int32; shapes : (n,) uint16
    words : (parts, 128 / parts, w) int32
    begin, end : (n, p) int64, the entries of the lists to look through
    owner : (e,) uint32; shape : (e,) uint16; code : (e, parts) uint8
    but : sorted (b,) int64, owners to pass over
    out_distance : (n, k) int64, filled with a number larger than any distance
    out_other : (n, k) int64, owner * 2**16 + shape
    """
    parts, most = words.shape[0], out_distance.shape[1]
    table = np.empty((parts, words.shape[2]), np.int32)
    for i in range(start, stop):
        _squared_distances(descriptors[i], words, table)
        kind = shapes[i] & 3
        distances, others = out_distance[i], out_other[i]
        for probe in range(begin.shape[1]):
            for e in range(begin[i, probe], end[i, probe]):
                if shape[e] & 3 != kind:
                    continue
                worst = distances[most - 1]
                squared = np.int64(0)
                for part in range(parts // 2):
                    squared += table[part, code[e, part]]
                if squared > worst:
                    continue
                for part in range(parts // 2, parts):
                    squared += table[part, code[e, part]]
                other = np.int64(owner[e]) * 65536 + shape[e]
                if squared > worst or (squared == worst and other >= others[most - 1]):
                    continue
                if len(but):
                    at = np.searchsorted(but, np.int64(owner[e]))
                    if at < len(but) and but[at] == owner[e]:
                        continue
                place = most - 1
                while place > 0 and (
                    distances[place - 1] > squared
                    or (distances[place - 1] == squared and others[place - 1] > other)
                ):
                    distances[place] = distances[place - 1]
                    others[place] = others[place - 1]
                    place -= 1
                distances[place] = squared
                others[place] = other
