"""A whole collection for structure from motion: one COLMAP database, or hloc's files, with all pictures.

The keypoints of a picture are the places of its matches in all pairs, each listed once, so that tracks can
extend over several pictures. In each pair, a keypoint has one partner: the one with the smallest descriptor
distance.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from operator import itemgetter
from pathlib import Path

import numpy as np

from matching._common import opencv
from matching._common.types import Array, Bools, Floats, Ints
from matching.collection.database.store import Store, open_store
from matching.collection.reports.export import FOREIGN_FILE, exported_files
from matching.errors import InputError
from matching.interchange.two_views import MIN_NUM_INLIERS, epipolar_error
from matching.output.exchange import (
    APPLICATION_ID,
    MAX_ERROR,
    MIN_EXPLAINED_SHARE,
    WRITER_ATTRIBUTE,
    WRITERS,
    ExportedPair,
    Geometry,
    StoredImage,
    TwoViews,
    check_name,
    require_h5py,
    store_image,
)
from matching.output.export_formats import FORMATS
from matching.pictures.decoding import read_orientation
from matching.pictures.names import is_file, make_relative

MATCHES = "SELECT object, score, x0, y0, x1, y1 FROM matches WHERE pair = ? ORDER BY score, candidate"
# reads a picture by its number: as it is stored, and the places of its keypoints
Read = Callable[[int], tuple[StoredImage, Array]]


def export_for_sfm(db: Path, folder: Path, kind: str, static: bool = False) -> list[Path]:
    """Write all pictures and matches of a collection into a folder: all files, or none."""
    with open_store(db) as store:
        rows = store.rows("SELECT id, path, width, height FROM images WHERE status = 'described' ORDER BY id")
        names = make_relative(path for _, path, *_ in rows)
        for name in names:
            check_name(name, for_hloc=kind == "hloc")
        files = {number: (name, *file) for name, (number, *file) in zip(names, rows, strict=True)}
        read: Read = lru_cache(maxsize=512)(lambda number: _read_image(store, number, *files[number]))
        with exported_files(folder, FORMATS[kind].files) as part:
            WRITERS[kind](part, (read(number)[0] for number in files), _read_pairs(store, read, static))
    return [folder / name for name in FORMATS[kind].files]


def check_sfm_replaceable(folder: Path, kind: str) -> None:
    """Check that an export is possible and replaces only earlier exports."""
    if kind == "hloc":
        require_h5py()
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
            with path.open("rb") as file:  # its application_id is in bytes 68 to 71
                return file.read(72)[68:] == APPLICATION_ID.to_bytes(4, "big")
        h5py = require_h5py()
        with h5py.File(path.with_name("matches.h5") if path.suffix == ".txt" else path) as file:
            return bool(WRITER_ATTRIBUTE in file.attrs)
    except OSError:
        return False


def _read_image(
    store: Store, number: int, name: str, path: str, width: int, height: int
) -> tuple[StoredImage, Array]:
    """Read a picture as it is stored, and the distinct places of its matches, sorted, as numbers x + iy."""
    query = (
        "SELECT x0, y0 FROM matches JOIN pairs ON pairs.id = pair WHERE image0 = ?1 AND image1 != ?1"
        " UNION"
        " SELECT x1, y1 FROM matches JOIN pairs ON pairs.id = pair WHERE image1 = ?1 AND image0 != ?1"
    )
    places = np.unique(np.array(store.rows(query, (number,)), float).reshape(-1, 2) @ (1, 1j))
    xy = np.column_stack([places.real, places.imag])
    return store_image(name, read_orientation(path), width, height, xy), places


def _read_pairs(store: Store, read: Read, only_static: bool) -> Iterator[ExportedPair]:
    """Read the pairs that have matches, each in one direction only."""
    seen: set[frozenset[int]] = set()
    for pair, *both in store.execute(
        "SELECT id, image0, image1 FROM pairs WHERE n_objects > 0 AND image0 != image1 ORDER BY id"
    ):
        if frozenset(both) not in seen:  # both directions of a pair have the same matches
            seen.add(frozenset(both))
            query = (
                "SELECT object, score, x0, y0, x1, y1 FROM matches WHERE pair = ? ORDER BY score, candidate"
            )
            columns = np.array(store.rows(query, (pair,)))
            ends = sorted(zip(both, (columns[:, 2:4], columns[:, 4:]), strict=True), key=itemgetter(0))
            images = [read(number) for number, _ in ends]
            at = [
                np.searchsorted(image[1], xy @ (1, 1j)) for image, (_, xy) in zip(images, ends, strict=True)
            ]
            exported = _choose_matches(images[0][0], images[1][0], np.column_stack(at), columns, only_static)
            if len(exported.matches):
                yield exported


def _choose_matches(
    image0: StoredImage,
    image1: StoredImage,
    matches: Ints,
    columns: Floats,
    only_static: bool,
) -> ExportedPair:
    """Choose the matches of a pair (n, 2), the best first, one for each keypoint; columns: object, score, ...

    Those that one motion explains are verified, or all if there is none.
    """
    first = _one_to_one(matches)
    matches, columns = matches[first], columns[first]
    xy0, xy1 = image0.keypoints[matches[:, 0]] + 0.5, image1.keypoints[matches[:, 1]] + 0.5
    fundamental, is_static = static_matches(xy0, xy1, columns[:, 0])
    kept = is_static if only_static else np.ones(len(matches), bool)
    views, is_verified = TwoViews(Geometry.MULTIPLE), kept
    if fundamental is not None and is_static[kept].mean() >= MIN_EXPLAINED_SHARE:
        views, is_verified = TwoViews(Geometry.UNCALIBRATED, fundamental), is_static
    return ExportedPair(
        (image0, image1),
        matches[kept],
        columns[kept, 1],
        views if is_verified.sum() >= MIN_NUM_INLIERS else None,
        matches[is_verified],
    )


def static_matches(xy0: Array, xy1: Array, object_: Array) -> tuple[Array | None, Bools]:
    """Fit the fundamental matrix that explains the most matches -> (3, 3) or None, explained (n,).

    Matches of an object of which the matrix explains less than half count as moving, not as explained.
    """
    fundamental, _ = opencv.fit_fundamental(xy0, xy1, MAX_ERROR)
    if fundamental is None:
        return None, np.zeros(len(xy0), bool)
    explained = epipolar_error(fundamental, xy0, xy1) <= MAX_ERROR
    _, which = np.unique(object_, return_inverse=True)
    moved = np.bincount(which, explained) < 0.5 * np.bincount(which)
    return fundamental, explained & ~moved[which]


def _one_to_one(matches: Ints) -> Ints:
    """Rows of those matches (n, 2), the best first, that share no keypoint with an earlier chosen one."""
    used0: set[int] = set()
    used1: set[int] = set()
    rows: list[int] = []
    for row, (a, b) in enumerate(matches.tolist()):
        if a not in used0 and b not in used1:
            used0.add(a)
            used1.add(b)
            rows.append(row)
    return np.array(rows, np.int64)
