"""COLMAP's database: the keypoints and matches of all pairs, and their groups as two-view geometries.

The centre of the top-left pixel is (0.5, 0.5) in COLMAP, but (0, 0) here. COLMAP ignores the EXIF orientation
of an image. The id of a pair is 2,147,483,647 id0 + id1 with id0 < id1. Keypoints are float32 rows of x, y;
of x, y, scale, orientation (radians, from x to y); or of x, y and the affine shape a11, a12, a21, a22.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from matching._common.types import Array
from matching.errors import InputError, one_line
from matching.interchange.records import (
    Grouped,
    KeypointSet,
    PairMatches,
    frames_from_angles,
    join_keypoints,
    to_size,
)
from matching.interchange.two_views import count_groups, estimate_two_views, find_static
from matching.output.exchange import (
    GEOMETRIES,
    MAX_IMAGES,
    Geometry,
    describe_two_views,
    insert_geometry,
    insert_matches,
)

TABLES = ("matches", GEOMETRIES)  # the first table with matches of a pair counts


def read_colmap(path: Path) -> Iterator[tuple[int, PairMatches]]:
    """Read the matches of each pair in COLMAP's database, by pair id: those before verification if stored."""
    with _open(path) as database:
        images = {
            number: (name, to_size(width, height))
            for number, name, height, width in database.execute(
                "SELECT image_id, name, height, width FROM images JOIN cameras USING (camera_id)"
            )
        }

        @lru_cache
        def keypoints(number: int) -> KeypointSet:
            row = database.execute("SELECT rows, cols, data FROM keypoints WHERE image_id = ?", (number,))
            return _read_keypoints(f"{path}: {images[number][0]}", row.fetchone(), images[number][1])

        # Read one pair at a time: the caller's statements would disturb a cursor. Programs that import
        # verified matches may write geometries only.
        listed = " UNION ".join(f"SELECT pair_id FROM {table} WHERE rows > 0" for table in TABLES)
        ids = [n for (n,) in database.execute(f"{listed} ORDER BY pair_id")]
        if not ids:
            raise InputError(f"{path}: holds no matches, neither in the table matches nor in {GEOMETRIES}")
        for pair_id in ids:
            numbers = divmod(pair_id, MAX_IMAGES)
            source = f"{path}: pair {numbers[0]}, {numbers[1]}"
            if unknown := [n for n in numbers if n not in images]:
                raise InputError(f"{source}: there is no image {unknown[0]}")
            stored = (_read_matches(database, table, pair_id, source) for table in TABLES)
            indices = next(filter(len, stored))
            names = images[numbers[0]][0], images[numbers[1]][0]
            both = keypoints(numbers[0]), keypoints(numbers[1])
            pair = join_keypoints(both, indices, None, " - ".join((str(path), *names)))
            yield pair_id, replace(pair, names=names, as_stored=True)


def write_groups(path: Path, target: Path, groups: Mapping[int, Grouped], all_objects: bool = False) -> None:
    """Write a copy of COLMAP's database in which each pair has only its static scene, or all its objects."""
    with _open(path) as source, closing(sqlite3.connect(target)) as copy:
        source.backup(copy)
        named = "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name GLOB ?"
        for name, _ in copy.execute(named, (f"{GEOMETRIES}_[0-9]*",)).fetchall():
            copy.execute(f'DROP TABLE "{name}"')
        ((_, schema),) = copy.execute(named, (GEOMETRIES,))
        for k in range(max((count_groups(cluster) for _, cluster in groups.values()), default=0)):
            copy.execute(schema.replace(GEOMETRIES, f"{GEOMETRIES}_{k}", 1))
        for pair_id, (pair, cluster) in groups.items():
            assert pair.indices is not None  # `read_colmap` gives them
            indices, xy0, xy1 = pair.indices, pair.xy0 + 0.5, pair.xy1 + 0.5
            kept = _read_matches(copy, GEOMETRIES, pair_id, f"pair {pair_id}")
            verified = np.isin(indices @ (2**32, 1), kept @ (2**32, 1))
            n_groups = count_groups(cluster)
            rows = cluster >= 0 if all_objects else find_static(pair.xy0, pair.xy1, cluster, verified)
            insert_matches(copy, pair_id, indices[(cluster >= 0) | rows])
            if all_objects or not rows.any() or not np.array_equal(rows, verified):
                copy.execute(f"DELETE FROM {GEOMETRIES} WHERE pair_id = ?", (pair_id,))
                both = xy0[rows], xy1[rows]
                views = describe_two_views(*both, n_groups) if all_objects else estimate_two_views(*both)
                rows = rows & (views.config != Geometry.DEGENERATE)
                insert_geometry(copy, pair_id, indices[rows], views)
            for k in range(n_groups):
                rows = cluster == k
                views = describe_two_views(xy0[rows], xy1[rows], 1)
                insert_geometry(copy, pair_id, indices[rows], views, f"{GEOMETRIES}_{k}")
        copy.commit()


def _read_matches(database: sqlite3.Connection, table: str, pair_id: int, source: str) -> Array:
    """Read the matches of a pair from a table -> (n, 2) int64."""
    query = f"SELECT rows, cols, data FROM {table} WHERE pair_id = ? AND rows > 0"
    row = database.execute(query, (pair_id,)).fetchone() or (0, 2, b"")
    return _decode_blob(source, row, np.uint32, (2,)).astype(np.int64)


def _read_keypoints(source: str, row: tuple[Any, ...] | None, size: tuple[int, int] | None) -> KeypointSet:
    """Read a row of the table of keypoints."""
    if row is None:
        return KeypointSet(np.empty((0, 2)), None, size)
    table = _decode_blob(source, row, np.float32, (2, 4, 6)).astype(np.float64)
    frames = None
    if table.shape[1] == 4:
        frames = frames_from_angles(table[:, 2], table[:, 3])
    elif table.shape[1] == 6:
        frames = table[:, 2:].reshape(-1, 2, 2)
    return KeypointSet(table[:, :2] - 0.5, frames, size)


def _decode_blob(source: str, row: tuple[Any, ...], kind: DTypeLike, widths: tuple[int, ...]) -> Array:
    """Decode the array (rows, cols) in a row of keypoints or matches."""
    n, width, data = row
    if width not in widths:
        raise InputError(f"{source}: must have {' or '.join(map(str, widths))} columns, got {width}")
    number = np.dtype(kind).newbyteorder("<")
    if len(data or b"") != n * width * number.itemsize:
        raise InputError(f"{source}: is damaged ({len(data or b'')} bytes for {n} x {width} numbers)")
    return np.frombuffer(data or b"", number).reshape(n, width)


@contextmanager
def _open(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database for reading; if it has no write-ahead log, it is not even locked."""
    log = path.with_name(path.name + "-wal")
    mode = "mode=ro" if log.exists() and log.stat().st_size else "immutable=1"
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True)) as database:
            tables = {n for (n,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if missing := {"images", "cameras", "keypoints", "matches", GEOMETRIES} - tables:
                raise InputError(f"{path}: is not a database of COLMAP: it has no table {min(missing)}")
            yield database
    except sqlite3.Error as error:
        raise InputError(
            f"{path}: can't be read as COLMAP's database, or copied ({one_line(error)})"
        ) from None
