"""The nearest of all entries: for some thousand pictures, without faiss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from matching._common.types import Array
from matching.collection.retrieval import _kernels
from matching.collection.retrieval._codes import N_CLASSES, classes
from matching.collection.retrieval._votes import KEPT, MISSING, Neighbours, choose_neighbours


@dataclass(frozen=True, eq=False)
class ExactShard:
    """Entries by class and then by id: `bits` (n, 4) uint64, `id` (n,), `starts` (N_CLASSES + 1,)."""

    bits: Array
    id: Array
    starts: Array


def make_exact(entries: Array) -> ExactShard:
    """Sort entries for `find_exact`."""
    entries = entries[np.lexsort((entries["id"], classes(entries)))]
    starts = np.searchsorted(classes(entries), np.arange(N_CLASSES + 1))
    return ExactShard(_words(entries), np.ascontiguousarray(entries["id"]), starts)


def find_exact(query: Array, shard: ExactShard, own: int) -> Neighbours:
    """The Neighbours of a query among all entries but those of picture `own`."""
    distance, found = np.full((len(query), KEPT), MISSING), np.full((len(query), KEPT), -1, np.int64)
    begin, end = shard.starts[classes(query)], shard.starts[classes(query) + 1]
    _kernels.search(_words(query), own, begin, end, shard.bits, shard.id, distance, found)
    return choose_neighbours(distance, found)


def _words(entries: Array) -> Array:
    words: Array = np.ascontiguousarray(entries["bits"]).view(np.uint64)
    return words
