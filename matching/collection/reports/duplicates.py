"""Pictures that could go because another one, which is kept, shows exactly the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from matching.collection.database.store import Store
from matching.collection.reports.groups import Link
from matching.collection.reports.relations import MAX_EQUAL_RATIO
from matching.pictures.names import is_file

KEPT = "largest", "oldest", "first"  # which of several equal pictures is kept, the first by default


def list_removable(store: Store, links: Iterable[Link], keep: str) -> list[str]:
    """List the pictures that are copies or thumbnails of one that is kept, and differ from it nowhere.

    keep: "largest" (in pixels, then in bytes), "oldest" (by the time of its last change), or "first" (by its
    path). A picture that is larger than the one that is kept is not listed, as it shows more; nor is one of
    which it can't be told whether it is the same.
    """
    sizes = {k: (path, n) for k, path, n in store.rows("SELECT id, path, width * height FROM images")}
    order: dict[str, Callable[[int], tuple[float | str, ...]]] = {
        "largest": lambda k: (-sizes[k][1], -_look_up(sizes[k][0])[0], sizes[k][0]),
        "oldest": lambda k: (_look_up(sizes[k][0])[1], sizes[k][0]),
        "first": lambda k: (sizes[k][0],),
    }
    same: dict[int, set[int]] = {}
    for link in links:
        if link.relation.is_same and link.relation.kind in ("copy", "thumbnail"):
            same.setdefault(link.image0, set()).add(link.image1)
            same.setdefault(link.image1, set()).add(link.image0)
    kept: set[int] = set()
    removable: set[int] = set()
    for picture in sorted(same, key=order[keep]):
        if picture not in removable:
            kept.add(picture)
            bound = MAX_EQUAL_RATIO**2 * sizes[picture][1]
            removable |= {k for k in same[picture] - kept if sizes[k][1] <= bound}
    return sorted(sizes[k][0] for k in removable)


def _look_up(path: str) -> tuple[int, float]:
    """The bytes of a file, and when it was last changed; (0, inf) if there is none."""
    if not is_file(Path(path)):
        return 0, float("inf")
    status = Path(path).stat()
    return status.st_size, status.st_mtime
