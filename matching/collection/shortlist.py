"""Which pictures of a large gallery are worth matching with a query: those that share descriptors with it.

Every descriptor of the query looks up its K + 1 nearest ones in an approximate index over the whole gallery
(faiss). The last of them stands for the background, as in local naive Bayes nearest neighbour (McCann and
Lowe, CVPR 2012): the descriptor votes for each picture among the first K that has one much nearer than that.
Their sum of distance differences ranks worse here, because the many descriptors that fit anything outweigh
the few that fit one picture; docs/collections.md has numbers.
"""

from __future__ import annotations

import hashlib
import math
from contextlib import contextmanager
from importlib.util import find_spec

import numpy as np

from matching.errors import InputError
from matching.features.extraction import DESCRIPTOR_NORM

PER_PICTURE = 2000  # descriptors of a gallery picture, spread over its list
NEIGHBORS = 10  # K, of a descriptor of the query
RATIO = 0.7  # of a distance that earns a vote to the background's
SEARCHED = 16  # of the index's lists, for each descriptor
TRAINED_ON = 64  # descriptors a list, for its centre


def require_index():
    """Raise InputError where the library of the index is not installed."""
    if find_spec("faiss") is None:
        raise InputError("--shortlist needs faiss: pip install 'gdl-match[shortlist]'")


class GalleryIndex:
    """An approximate index over the descriptors of a gallery. The same pictures give the same index.

    Descriptors are kept with 8 bits a component: 128 bytes each, 256 kB a picture.
    """

    def __init__(self, pictures):
        """pictures : iterable of descriptors (n, 128), one array a picture"""
        import faiss

        chosen = [some_descriptors(descriptors) for descriptors in pictures]
        self.n_pictures = len(chosen)
        self._owner = np.repeat(np.arange(len(chosen)), [len(c) for c in chosen])
        stacked = np.concatenate(chosen) if chosen else np.empty((0, 128), np.float32)
        lists = max(min(round(4 * math.sqrt(len(stacked))), len(stacked) // 40), 1)
        self._index = faiss.index_factory(128, f"IVF{lists},SQ8")
        self._index.nprobe = SEARCHED
        if len(stacked):
            with _one_thread(faiss):
                step = max(len(stacked) // (TRAINED_ON * lists), 1)
                self._index.train(stacked[::step])
                self._index.add(stacked)

    def scores(self, descriptors):
        """(n_pictures,) float64: how much the descriptors (n, 128) of a query speak for each picture."""
        import faiss

        wanted = some_descriptors(descriptors, len(descriptors))
        if not len(wanted) or not len(self._owner):
            return np.zeros(self.n_pictures)
        with _one_thread(faiss):
            squared, found = self._index.search(wanted, NEIGHBORS + 1)
        return votes(squared, self._owner[found], found >= 0, self.n_pictures)


def some_descriptors(descriptors, most=PER_PICTURE):
    """At most `most` of the rows, evenly spread, as unit vectors."""
    step = np.linspace(0, len(descriptors), min(most, len(descriptors)), endpoint=False).astype(int)
    return np.ascontiguousarray(descriptors[step] / np.float32(DESCRIPTOR_NORM))


def votes(squared, owner, known, n_pictures):
    """(n_pictures,) float64: how many descriptors of a query vote for each picture.

    squared : (n, K + 1) squared distances of each descriptor's nearest ones, rising
    owner : (n, K + 1) the picture of each
    known : (n, K + 1) bool, false where the index gave fewer

    >>> votes(np.array([[1.0, 4.0, 9.0]]), np.array([[1, 1, 0]]), np.ones((1, 3), bool), 2)
    array([0., 1.])
    """
    background = np.where(known, squared, -np.inf).max(axis=1, keepdims=True)
    near = known & (squared < RATIO**2 * background)
    row, column = np.nonzero(near[:, :-1])
    once = np.unique(row * n_pictures + owner[row, column])  # a picture gets one vote a descriptor
    return np.bincount(once % n_pictures, minlength=n_pictures).astype(float)


def best(scores, n, but=()):
    """Indices of the n highest scores, falling; ties by the smaller index; not those in `but`."""
    order = np.lexsort((np.arange(len(scores)), -scores))
    return [int(k) for k in order if k not in but][:n]


def fingerprint(n, queries, gallery, programs):
    """What a shortlist follows from, as one string: its length, the pictures' contents, the programs."""
    text = repr((n, queries, gallery, programs, PER_PICTURE, NEIGHBORS, RATIO, SEARCHED))
    return hashlib.sha256(text.encode()).hexdigest()


@contextmanager
def _one_thread(faiss):
    # sums over several threads round differently from run to run
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
