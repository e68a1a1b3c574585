"""The nearest of all entries in some lists; without faiss, of a list for each class."""

from collections.abc import Sequence

import numpy as np

from matching._common.types import Array
from matching.collection.retrieval import _kernels
from matching.collection.retrieval._codes import N_CLASSES, classes
from matching.collection.retrieval._votes import KEPT, MISSING, Neighbours, choose_neighbours

Packed = tuple[Array, Array]  # where each list begins, and their words, as `_kernels.search` needs them


def sort_entries(entries: Array) -> Packed:
    """Sort entries by class and then by id, as `find_exact` needs them."""
    entries = entries[np.lexsort((entries["id"], classes(entries)))]
    starts = np.searchsorted(classes(entries), np.arange(N_CLASSES + 1))
    each = (own[name] for own in np.split(entries, starts[1:-1]) for name in ("bits", "id"))
    return starts, np.concatenate([np.ascontiguousarray(part).view(np.uint64).ravel() for part in each])


def find_exact(query: Array, entries: Packed, own: int) -> Neighbours:
    """The Neighbours of a query among all sorted entries but those of picture `own`."""
    return find_in_lists(query, classes(query)[:, None], entries, [own])


def find_in_lists(query: Array, lists: Array, packed: Packed, but: Sequence[int]) -> Neighbours:
    """The Neighbours of each of n ENTRY in its lists (n, p), -1 for none; not those of pictures `but`."""
    distance, found = np.full((len(query), KEPT), MISSING), np.full((len(query), KEPT), -1, np.int64)
    bits, gone = np.ascontiguousarray(query["bits"]).view(np.uint64), np.unique(np.asarray(but, np.int64))
    order = np.argsort(lists[:, 0], kind="stable")  # a list that several need is in the processor's cache
    _kernels.search(bits, order, lists, *packed, gone[gone >= 0], distance, found)
    return choose_neighbours(distance, found)
