"""Merging the segments of a kept index, so that there are few, without the entries of dead pictures."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from matching.collection.cache import compute_digest
from matching.collection.kept_index.store import KeptIndex
from matching.collection.retrieval.segments import merge_segments, open_segment

FANOUT = 8  # segments of about one size (a factor of 8) that are merged into one
SMALL = 256  # pictures: smaller segments count as of one size


def merge_small_segments(index: KeptIndex) -> None:
    """Merge FANOUT segments of about one size, as long as there are that many.

    Parameters
    ----------
    index : KeptIndex
        Open, for writing.
    """
    while True:
        sizes: dict[int, list[str]] = {}
        for name, n in index.rows("SELECT name, n_pictures FROM segments ORDER BY name"):
            sizes.setdefault((max(n // SMALL, 1).bit_length() - 1) // 3, []).append(name)
        several = next((names for names in sizes.values() if len(names) >= FANOUT), None)
        if several is None:
            return
        if not _merge_these(index, several):
            return


def _merge_these(index: KeptIndex, names: list[str]) -> bool:
    """Merge segments; returns False if one is damaged or another process has merged them."""
    marks = ",".join("?" * len(names))
    dead: dict[str, list[int]] = {name: [] for name in names}
    for name, picture in index.rows(f"SELECT * FROM dead WHERE segment IN ({marks}) ORDER BY picture", names):
        dead[name].append(picture)
    try:
        segments = [open_segment(index.folder / name) for name in names]
    except (OSError, ValueError):
        return False
    merged = index.new_file(
        lambda path: merge_segments(path, segments, [np.array(dead[n], np.int64) for n in names])
    )
    digest = compute_digest(index.folder / merged)
    with index.transaction() as db:
        there = index.rows(f"SELECT count(*) FROM segments WHERE name IN ({marks})", names)[0][0]
        if there < len(names):
            (index.folder / merged).unlink()
            return False
        db.execute("INSERT INTO segments VALUES (?, ?, 0)", (merged, digest))
        db.execute(f"UPDATE pictures SET segment = ? WHERE segment IN ({marks})", (merged, *names))
        # those that another process has removed since
        later = [(n, p) for n, p in index.rows(f"SELECT * FROM dead WHERE segment IN ({marks})", names)]
        rows = [(merged, p) for n, p in later if p not in set(dead[n])]
        db.executemany("INSERT OR IGNORE INTO dead VALUES (?, ?)", rows)
        db.execute(f"DELETE FROM segments WHERE name IN ({marks})", names)
        db.execute(
            "UPDATE segments SET n_pictures = (SELECT count(*) FROM pictures WHERE segment = name)"
            " WHERE name = ?",
            (merged,),
        )
    for name in names:
        with suppress(OSError):
            (index.folder / name).unlink()
    return True
