"""A whole collection for structure from motion: one COLMAP database, or hloc's files, with all pictures.

The keypoints of a picture are the places of its matches in all pairs, each listed once, so that tracks can
extend over several pictures. In each pair, a keypoint has one partner: the one with the smallest descriptor
distance.
"""

from collections.abc import Iterator
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
from matching.output import exchange
from matching.output.export_formats import FORMATS
from matching.pictures.decoding import read_orientation
from matching.pictures.names import is_file, make_relative


def export_for_sfm(db: Path, folder: Path, kind: str, static: bool = False) -> list[Path]:
    """Write all pictures and matches of a collection into a folder: all files, or none."""
    with open_store(db) as store:
        collection = _Collection(store, kind, static)
        with exported_files(folder, FORMATS[kind].files) as part:
            images = (collection.image(number)[0] for number in collection.names)
            exchange.WRITERS[kind](part, images, collection.pairs())
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
            with path.open("rb") as file:  # its application_id is in bytes 68 to 71
                return file.read(72)[68:] == exchange.APPLICATION_ID.to_bytes(4, "big")
        h5py = exchange.require_h5py()
        with h5py.File(path.with_name("matches.h5") if path.suffix == ".txt" else path) as file:
            return bool(exchange.WRITER_ATTRIBUTE in file.attrs)
    except OSError:
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
        places = self._places(number)
        xy = np.column_stack([places.real, places.imag])
        stored = exchange.store_image(self.names[number], read_orientation(path), width, height, xy)
        return stored, places

    def pairs(self) -> Iterator[exchange.ExportedPair]:
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

    def _pair(self, pair: int, image0: int, image1: int) -> exchange.ExportedPair:
        """Read the matches of a pair, one for each keypoint, the best first.

        Those that one motion explains are verified, or all if there is none.
        """
        rows = self._store.rows("SELECT object, score, x0, y0, x1, y1 FROM matches WHERE pair = ?", (pair,))
        columns = np.array(rows)
        columns = columns[np.argsort(columns[:, 1], kind="stable")]  # the best first
        ends = zip((image0, image1), (columns[:, 2:4], columns[:, 4:]), strict=True)
        images, rows_of = zip(
            *(self._find_rows(*end) for end in sorted(ends, key=itemgetter(0))), strict=True
        )
        matches = np.column_stack(rows_of)
        first = _one_to_one(*rows_of)
        matches = matches[first]
        xy0, xy1 = (image.keypoints[at] + 0.5 for image, at in zip(images, matches.T, strict=True))
        fundamental, is_static = static_matches(xy0, xy1, columns[first, 0])
        kept = is_static if self._only_static else np.ones(len(matches), bool)
        views, is_verified = exchange.TwoViews(exchange.Geometry.MULTIPLE), kept
        if fundamental is not None and is_static[kept].mean() >= exchange.MIN_EXPLAINED_SHARE:
            views = exchange.TwoViews(exchange.Geometry.UNCALIBRATED, fundamental)
            is_verified = is_static
        return exchange.ExportedPair(
            (images[0], images[1]),
            matches[kept],
            columns[first, 1][kept],
            views if is_verified.sum() >= MIN_NUM_INLIERS else None,
            matches[is_verified],
        )

    def _find_rows(self, number: int, xy: Floats) -> tuple[exchange.StoredImage, Ints]:
        """Find the keypoints (n,) of a picture at places (n, 2)."""
        image, places = self.image(number)
        return image, np.searchsorted(places, xy @ (1, 1j))


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
