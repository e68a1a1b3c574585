"""A whole collection for structure from motion: one COLMAP database, or hloc's files, with all pictures.

The keypoints of a picture are the places of its matches in all pairs, each listed once, so that tracks can
extend over several pictures. In each pair, a keypoint has one partner: the one with the smallest descriptor
distance.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from matching._common import opencv
from matching._common.types import Array, Bools, Floats, Ints
from matching.collection.database.store import Store, open_store
from matching.collection.reports.export import FOREIGN_FILE, exported_files
from matching.errors import InputError
from matching.interchange.two_views import MIN_NUM_INLIERS, epipolar_error
from matching.objects.transforms import apply_transform
from matching.output import exchange
from matching.output.export_formats import FORMATS
from matching.pictures.decoding import map_displayed_to_stored, read_orientation
from matching.pictures.names import is_file, make_relative

APPLICATION_ID = 0x67646C6D  # "gdlm", in the SQLite files that this program writes
WRITER_ATTRIBUTE = "written_by"  # in the HDF5 files that this program writes


@dataclass(frozen=True, eq=False)
class ExportedPair:
    """The matches of a pair, as pairs of keypoints."""

    images: tuple[int, int]  # in the database
    matches: Array  # (n, 2) uint32, rows of the keypoints
    score: Floats  # (n,), descriptor distances
    is_static: Bools  # (n,), whether the motion of the camera explains the match
    fundamental: Array | None  # (3, 3) float64, the matrix of that motion, for pixel centres at (0.5, 0.5)


def export_for_sfm(db: Path, folder: Path, kind: str, static: bool = False) -> list[Path]:
    """Write all pictures and matches of a collection into a folder: all files, or none."""
    write = {"colmap": _write_colmap, "hloc": _write_hloc}[kind]
    with open_store(db) as store:
        collection = _Collection(store, kind, static)
        with exported_files(folder, FORMATS[kind].files) as part:
            write(part, collection)
    return [folder / name for name in FORMATS[kind].files]


def check_sfm_replaceable(folder: Path, kind: str) -> None:
    """Check that an export is possible and replaces only earlier exports."""
    if kind == "hloc":
        exchange.require_h5py()
    for name in FORMATS[kind].files:
        path = folder / name
        if path.exists() and not _is_written_here(path):
            raise InputError(f"{path}: {FOREIGN_FILE}")


def _is_written_here(path: Path) -> bool:
    """Whether this program wrote a file, or the file beside a list of pairs."""
    if not is_file(path):
        return False
    try:
        if path.suffix == ".db":
            address = f"{path.absolute().as_uri()}?mode=ro"  # the name may hold #, ? or %
            with closing(sqlite3.connect(address, uri=True)) as database:
                return bool(database.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,))
        h5py = exchange.require_h5py()
        with h5py.File(path.with_name("matches.h5") if path.suffix == ".txt" else path) as file:
            return bool(WRITER_ATTRIBUTE in file.attrs)
    except (OSError, sqlite3.Error):
        return False


class _Collection:
    """Reads the pictures and pairs of an open Store in the form of the exports."""

    def __init__(self, store: Store, kind: str, static: bool) -> None:
        self._store, self._only_static = store, static
        rows = store.rows("SELECT id, path, width, height FROM images WHERE status = 'described' ORDER BY id")
        self.names = dict(zip((row[0] for row in rows), make_relative(row[1] for row in rows), strict=True))
        for name in self.names.values():
            exchange.check_name(name, for_hloc=kind == "hloc")
        self._files = {number: (path, width, height) for number, path, width, height in rows}
        self.image = lru_cache(maxsize=512)(self._image)

    def _places(self, number: int) -> Array:
        """List the distinct places of the matches of a picture, sorted, as complex numbers x + iy."""
        query = (
            "SELECT x0, y0 FROM matches JOIN pairs ON pairs.id = pair WHERE image0 = ?1 AND image1 != ?1"
            " UNION"
            " SELECT x1, y1 FROM matches JOIN pairs ON pairs.id = pair WHERE image1 = ?1 AND image0 != ?1"
        )
        xy = np.array(self._store.rows(query, (number,)), float).reshape(-1, 2)
        return np.unique(xy @ (1, 1j))

    def _image(self, number: int) -> tuple[exchange.StoredImage, Array]:
        """Read a picture as it is stored, and the places of its keypoints as `_places` lists them."""
        path, width, height = self._files[number]
        turn = map_displayed_to_stored(read_orientation(path), width, height)
        if turn[0, 0] == 0:
            width, height = height, width
        places = self._places(number)
        keypoints = apply_transform(turn, np.column_stack([places.real, places.imag]))
        return exchange.StoredImage(self.names[number], width, height, keypoints, turn), places

    def pairs(self) -> Iterator[ExportedPair]:
        """Read the pairs that have matches, each in one direction only."""
        seen: set[frozenset[int]] = set()
        for pair, image0, image1 in self._store.cursor(
            "SELECT id, image0, image1 FROM pairs WHERE n_objects > 0 AND image0 != image1 ORDER BY id"
        ):
            if {image0, image1} not in seen:  # both directions of a pair have the same matches
                seen.add(frozenset((image0, image1)))
                exported = self._pair(pair, image0, image1)
                if len(exported.matches):
                    yield exported

    def _pair(self, pair: int, image0: int, image1: int) -> ExportedPair:
        """Read the matches of a pair, one for each keypoint, the best first."""
        rows = self._store.rows("SELECT object, x0, y0, x1, y1, score FROM matches WHERE pair = ?", (pair,))
        columns = np.array(rows)
        columns = columns[np.lexsort((np.arange(len(columns)), columns[:, 5]))]  # the best first
        (stored0, places0), (stored1, places1) = self.image(image0), self.image(image1)
        at0 = np.searchsorted(places0, columns[:, 1:3] @ (1, 1j))
        at1 = np.searchsorted(places1, columns[:, 3:5] @ (1, 1j))
        first = _one_to_one(at0, at1)
        matches, object_, score = np.column_stack([at0, at1])[first], columns[first, 0], columns[first, 5]
        xy0, xy1 = stored0.keypoints[matches[:, 0]] + 0.5, stored1.keypoints[matches[:, 1]] + 0.5
        fundamental, is_static = static_matches(xy0, xy1, object_)
        kept = is_static if self._only_static else np.ones(len(matches), bool)
        kept_matches = matches[kept].astype(np.uint32)
        return ExportedPair((image0, image1), kept_matches, score[kept], is_static[kept], fundamental)


def static_matches(xy0: Array, xy1: Array, object_: Array) -> tuple[Array | None, Bools]:
    """Fit the fundamental matrix that explains the most matches -> (3, 3) or None, explained (n,).

    Matches of an object of which the matrix explains less than half count as moving, not as explained.
    """
    fundamental, _ = opencv.fit_fundamental(xy0, xy1, exchange.MAX_ERROR)
    if fundamental is None:
        return None, np.zeros(len(xy0), bool)
    explained = epipolar_error(fundamental, xy0, xy1) <= exchange.MAX_ERROR
    _, which = np.unique(object_, return_inverse=True)
    moved = np.bincount(which, explained) < 0.5 * np.bincount(which)
    return fundamental, explained & ~moved[which]


def _one_to_one(at0: Array, at1: Array) -> Ints:
    """Rows of those matches, given the best first, that share no keypoint with an earlier chosen one."""
    used0: set[int] = set()
    used1: set[int] = set()
    rows: list[int] = []
    for row, (a, b) in enumerate(zip(at0.tolist(), at1.tolist(), strict=True)):
        if a not in used0 and b not in used1:
            used0.add(a)
            used1.add(b)
            rows.append(row)
    return np.array(rows, np.int64)


def _write_colmap(folder: Path, collection: _Collection) -> None:
    """Write a COLMAP database, in which the smaller picture number of a pair comes first."""
    with closing(sqlite3.connect(folder / "database.db")) as database:
        database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        database.executescript(exchange.SCHEMA)
        ids = {number: k for k, number in enumerate(collection.names, 1)}
        for number, k in ids.items():
            image, _ = collection.image(number)
            exchange.insert_image(database, k, image)
        for pair in collection.pairs():
            (low, high), matches, fundamental = sorted(pair.images), pair.matches, pair.fundamental
            if low != pair.images[0]:
                matches, fundamental = matches[:, ::-1], None if fundamental is None else fundamental.T
            number = exchange.MAX_IMAGES * ids[low] + ids[high]
            _insert_pair(database, number, matches, pair.is_static, fundamental)
        database.commit()


def _insert_pair(
    database: sqlite3.Connection, number: int, matches: Array, is_static: Bools, fundamental: Array | None
) -> None:
    """Insert the matches of a pair; those that one motion explains are verified, or all if there is none."""
    exchange.insert_matches(database, number, matches)
    found, verified = exchange.TwoViews(exchange.Geometry.MULTIPLE), matches
    if fundamental is not None and is_static.mean() >= exchange.MIN_EXPLAINED_SHARE:
        found = exchange.TwoViews(exchange.Geometry.UNCALIBRATED, fundamental)
        verified = matches[is_static]
    if len(verified) >= MIN_NUM_INLIERS:
        exchange.insert_geometry(database, number, verified, found)


def _write_hloc(folder: Path, collection: _Collection) -> None:
    """Write hloc's features and matches, and the list of pairs."""
    with _open_hdf5(folder / "features.h5") as file:
        for number in collection.names:
            file.update(exchange.list_features(collection.image(number)[0]))
    lines = []
    with _open_hdf5(folder / "matches.h5") as file:
        for pair in collection.pairs():
            names = [collection.names[number] for number in pair.images]
            n = len(collection.image(pair.images[0])[0].keypoints)
            partner, distance = np.full(n, -1, np.int32), np.full(n, 2.0)  # 2: the score of no match is 0
            partner[pair.matches[:, 0]], distance[pair.matches[:, 0]] = pair.matches[:, 1], pair.score
            file.update(exchange.list_partners(names, partner, distance))
            lines.append(f"{names[0]} {names[1]}\n")
    (folder / "pairs.txt").write_bytes("".join(lines).encode())


@contextmanager
def _open_hdf5(path: Path) -> Iterator[Any]:
    """Open a new HDF5 file that names this program as its writer."""
    with exchange.require_h5py().File(path, "w") as file:
        file.attrs[WRITER_ATTRIBUTE] = "gdl-match collection"
        yield file
