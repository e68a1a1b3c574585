"""The nearest of all entries, or of those in some lists."""

from collections.abc import Sequence

import numpy as np

from matching._common.types import Array
from matching.collection.retrieval import _kernels
from matching.collection.retrieval._codes import N_CLASSES, EntryLists, classes
from matching.collection.retrieval._votes import KEPT, MISSING, Neighbours, choose_neighbours


def sort_entries(entries: Array) -> EntryLists:
    """The lists of the entries of each class, as `find_exact` needs them."""
    own = [entries[classes(entries) == k] for k in range(N_CLASSES)]
    parts = [column for e in own for column in (e["bits"].ravel().view("<u8"), e["id"].view("<u8"))]
    size = np.array([len(e) for e in own])
    return EntryLists(np.concatenate(parts), 5 * (np.cumsum(size) - size), size)


def find_exact(query: Array, entries: EntryLists, own: int) -> Neighbours:
    """The Neighbours of a query among all sorted entries except those of picture `own`."""
    return find_in_lists(query, classes(query)[:, None], entries, [own])


def find_in_lists(query: Array, lists: Array, entries: EntryLists, but: Sequence[int]) -> Neighbours:
    """The Neighbours of a query in the lists (n, p) of its descriptors, except those of pictures `but`."""
    distance, found = np.full((len(query), KEPT), MISSING), np.full((len(query), KEPT), -1, np.int64)
    order = np.argsort(lists[:, 0], kind="stable")  # so that a list stays in the processor's cache
    bits = np.ascontiguousarray(query["bits"]).view(np.uint64)  # (n, 4)
    _kernels.search(bits, order, lists, entries, np.sort(np.array(but, np.int64)), distance, found)
    return choose_neighbours(distance, found)
