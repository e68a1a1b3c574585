"""Short codes of descriptors: what an index keeps of a picture.

A descriptor x (128,) lies in the cell (i, j) whose centre a_i + b_j is nearest to it, a two-level residual
quantiser: 256 centres a and, for what is left, 256 centres b. Its code is the nearest one of 256 words for
each of 32 parts of x, a product quantiser (Jégou, Douze, Schmid, PAMI 2011). Centres and words are whole
numbers that come with the program (scripts/maintain/make_codebook.py), and so are all distances: exact in
any order of summation. An index never has to learn them, and codes of one picture are the same in every
index.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from matching._common.threads import run_in_ranges
from matching._common.types import Array, Floats
from matching.collection.retrieval import _kernels
from matching.features.extraction import Features
from matching.features.thinning import choose_strongest

PER_PICTURE = 1300  # entries: 53 kB
PER_QUERY = 8000  # descriptors that a query looks up: in a scene of many objects each has few of them
FIRST = 16  # of the centres a, the nearest ones whose cells are considered for a descriptor
SCALE_STEPS = 4  # of a shape, an octave
N_KINDS = 2  # of features, that a shape tells apart


@dataclass(frozen=True, eq=False)
class Codebook:
    """The centres and words that descriptors are quantised to.

    Parameters
    ----------
    first, second : (256, 128) float64
        Whole numbers, the centres a and b.
    words : (32, 4, 256) int32
        For each part its 256 words in columns.
    digest : str
        SHA-256 of all of them.
    """

    first: Array
    second: Array
    words: Array
    digest: str


@dataclass(frozen=True, eq=False)
class Codes:
    """What an index keeps of the descriptors of one picture.

    Parameters
    ----------
    cell : (n,) uint16
        256 i + j.
    shape : (n,) uint16
        As `pack_shapes` has it.
    code : (n, 32) uint8
        The word of each part.
    """

    cell: Array
    shape: Array
    code: Array


@dataclass(frozen=True, eq=False)
class Query:
    """What a query looks up.

    Parameters
    ----------
    descriptors : (n, 128) uint16
        The descriptors: whole numbers up to DESCRIPTOR_NORM. A process holds many queries at a time.
    shape : (n,) uint16
        As `pack_shapes` has it.
    cells : (n, p) uint16
        The nearest cells, the nearest first.
    """

    descriptors: Array
    shape: Array
    cells: Array


@cache
def load_codebook() -> Codebook:
    """Load the codebook that comes with the program.

    Returns
    -------
    Codebook
        The centres and words.
    """
    with files(__package__).joinpath("codebook.npz").open("rb") as file, np.load(file) as data:
        columns = [data[name] for name in ("first", "second", "words")]
    digest = hashlib.sha256(b"".join(column.astype("<i2").tobytes() for column in columns)).hexdigest()
    first, second, words = columns
    return Codebook(
        first.astype(np.float64),
        second.astype(np.float64),
        np.ascontiguousarray(words.transpose(0, 2, 1), np.int32),
        digest,
    )


def encode(features: Features, most: int = PER_PICTURE, n_threads: int = 1) -> Codes:
    """Encode a picture's features.

    Parameters
    ----------
    features : Features
        The features.
    most : int
        How many are encoded at most.
    n_threads : int
        Threads; the result is the same for any number.

    Returns
    -------
    Codes
        What an index keeps of them.
    """
    chosen = features[choose_largest(features, most)]
    descriptors = np.rint(chosen.descriptors).astype(np.int32)
    code = np.empty((len(chosen), len(load_codebook().words)), np.uint8)
    run_in_ranges(
        lambda a, b: _kernels.nearest_words(descriptors, load_codebook().words, a, b, code),
        len(chosen),
        n_threads,
        256,
    )
    return Codes(nearest_cells(descriptors, 1)[:, 0].astype(np.uint16), pack_shapes(chosen), code)


def make_query(features: Features, probes: int, most: int = PER_QUERY) -> Query:
    """Prepare a query for a picture.

    Parameters
    ----------
    features : Features
        The features.
    probes : int
        Cells that each descriptor looks through.
    most : int
        How many features are looked up at most.

    Returns
    -------
    Query
        What is looked up.
    """
    chosen = features[choose_largest(features, most)]
    descriptors = np.rint(chosen.descriptors).astype(np.int32)
    cells = nearest_cells(descriptors, probes).astype(np.uint16)
    return Query(descriptors.astype(np.uint16), pack_shapes(chosen), cells)


def choose_largest(features: Features, most: int) -> Array:
    """Choose the largest features of every part of the picture, which copies and crops of it have too.

    Parameters
    ----------
    features : Features
        The features.
    most : int
        The largest number to choose.

    Returns
    -------
    (k,) int64
        Rising indices.
    """
    return choose_strongest(features.xy, _size(features), most)


def nearest_cells(descriptors: Array, probes: int) -> Array:
    """Find the cells whose centres are nearest to descriptors.

    |x - a_i - b_j|^2 = |x - a_i|^2 - 2 (x - a_i) b_j + |b_j|^2, for the FIRST nearest a_i.

    Parameters
    ----------
    descriptors : (n, 128) array
        The descriptors.
    probes : int
        Cells of each.

    Returns
    -------
    (n, probes) int64
        The cells, the nearest first.
    """
    book, x = load_codebook(), descriptors.astype(np.float64)
    cross = 2 * book.first @ book.second.T + (book.second**2).sum(axis=1)  # (256, 256)
    to_first = (book.first**2).sum(axis=1) - 2 * x @ book.first.T  # (n, 256), less |x|^2
    near = np.argsort(to_first, axis=1, kind="stable")[:, :FIRST]
    cells = np.empty((len(x), probes), np.int64)
    _kernels.nearest_cells(near, np.take_along_axis(to_first, near, 1), cross, x @ book.second.T, cells)
    return cells


def pack_shapes(features: Features) -> Array:
    """Pack direction, size, kind and polarity of features into 16 bits.

    Parameters
    ----------
    features : Features
        The features.

    Returns
    -------
    (n,) uint16
        8 bits of the direction of a feature, 6 of the logarithm of its size, 1 of its kind, 1 whether it is
        bright.

    Raises
    ------
    ValueError
        A feature is of a third kind, for which there is no bit.
    """
    if features.kind.max(initial=0) >= N_KINDS:
        raise ValueError(f"kinds of features must be below {N_KINDS}, got {features.kind.max()}")
    size = np.rint(SCALE_STEPS * np.log2(np.maximum(_size(features), 1e-9))).clip(0, 63).astype(np.uint16)
    turn = np.arctan2(features.frames[:, 1, 0], features.frames[:, 0, 0]) / (2 * np.pi)
    direction = np.rint(256 * turn).astype(np.int64) % 256
    kind = 2 * features.kind.astype(np.uint16) + features.bright
    packed: Array = (direction.astype(np.uint16) << 8) | (size << 2) | kind.astype(np.uint16)
    return packed


def _size(features: Features) -> Floats:
    return np.asarray(np.sqrt(np.abs(np.linalg.det(features.frames))))
