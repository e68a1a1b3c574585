"""Pictures that could go because another one, which is kept, shows exactly the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from matching.collection.database.store import Store
from matching.collection.reports.groups import Link, look_up
from matching.collection.reports.relations import MAX_EQUAL_RATIO

# What a picture that could go must not be beside the one that is kept: either exposure may show more.
BETTER = {"in colour", "in another colour", "darker", "brighter", "sharper"}


def list_removable(store: Store, links: Iterable[Link], keep: str, never: Sequence[Path] = ()) -> list[str]:
    """List the pictures that are copies or thumbnails of one that is kept, and are better in nothing.

    keep: "largest" (in pixels of detail: a picture has no more of them than a smaller one that is sharper),
    "oldest" (by the time of its last change), or "first" (by its path). A picture that has more detail,
    colour or another exposure than the one that is kept is not listed; nor is one that differs anywhere, or
    of which that can't be told. Nothing below the folders `never` is listed; it is kept before others.
    """
    sizes = {k: (path, n) for k, path, n in store.rows("SELECT id, path, width * height FROM images")}
    looks = defaultdict[int, dict[int, tuple[str, ...]]](dict)  # of each picture beside another one
    for link in links:
        if link.relation.compared.is_same and link.relation.kind in ("copy", "thumbnail"):
            for each in (link, link.reverse()):
                looks[each.image0][each.image1] = each.relation.compared.appearance
    sharper = {k: [sizes[j][1] for j in looks[k] if "sharper" in looks[k][j]] for k in looks}
    detail = {k: min([sizes[k][1], *sharper[k]]) for k in looks}
    folders = [(folder.absolute(), folder.resolve()) for folder in never]  # also if links lead there
    protected = {
        k
        for k, path in ((k, Path(sizes[k][0])) for k in looks)
        if any(path.is_relative_to(there) or path.resolve().is_relative_to(real) for there, real in folders)
    }

    def order(picture: int) -> tuple[float | str, ...]:
        path, _ = sizes[picture]
        n_bytes, changed = look_up(path)
        largest = -detail[picture], len(sharper[picture]), -n_bytes
        first = {"largest": largest, "oldest": (changed,), "first": ()}[keep]
        return (picture not in protected, *first, path)

    kept: set[int] = set()
    removable: set[int] = set()
    for picture in sorted(looks, key=order):
        if picture not in removable:
            kept.add(picture)
            bound = MAX_EQUAL_RATIO**2 * detail[picture]
            removable |= {
                k
                for k, words in looks[picture].items()
                if detail[k] <= bound and not BETTER.intersection(words) and k not in kept | protected
            }
    return sorted(sizes[k][0] for k in removable)
