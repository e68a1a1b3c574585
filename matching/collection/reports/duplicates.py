"""Pictures that could go because another one, which is kept, shows exactly the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from matching.collection.database.store import Store
from matching.collection.reports.groups import Link, look_up
from matching.collection.reports.relations import MAX_EQUAL_RATIO

KEPT = "largest", "oldest", "first"  # which of several equal pictures is kept, the first by default


def list_removable(store: Store, links: Iterable[Link], keep: str) -> list[str]:
    """List the pictures that are copies or thumbnails of one that is kept, and differ from it nowhere.

    keep: "largest" (in pixels, then in bytes), "oldest" (by the time of its last change), or "first" (by its
    path). A picture that is larger than the one that is kept is not listed, as it shows more; nor is one of
    which it can't be told whether it is the same.
    """
    sizes = {k: (path, n) for k, path, n in store.rows("SELECT id, path, width * height FROM images")}

    def order(picture: int) -> tuple[float | str, ...]:
        path, n_pixels = sizes[picture]
        n_bytes, changed = look_up(path)
        first: dict[str, tuple[float, ...]] = {"largest": (-n_pixels, -n_bytes), "oldest": (changed,)}
        return (*first.get(keep, ()), path)

    same = defaultdict[int, set[int]](set)
    for link in links:
        if link.relation.is_same and link.relation.kind in ("copy", "thumbnail"):
            same[link.image0].add(link.image1)
            same[link.image1].add(link.image0)
    kept: set[int] = set()
    removable: set[int] = set()
    for picture in sorted(same, key=order):
        if picture not in removable:
            kept.add(picture)
            bound = MAX_EQUAL_RATIO**2 * sizes[picture][1]
            removable |= {k for k in same[picture] - kept if sizes[k][1] <= bound}
    return sorted(sizes[k][0] for k in removable)
