"""Results in the formats of other programs: a COLMAP database, and hloc's HDF5 files.

Match i joins keypoint i of both images; a place in several matches is listed several times, since neither
COLMAP nor hloc allows a keypoint to have two partners in one image. COLMAP and hloc use pixels of the file as
stored, without EXIF orientation; in COLMAP, the centre of the top-left pixel is (0.5, 0.5).
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from enum import IntEnum
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from matching._common import opencv
from matching._common.optional import import_optional
from matching._common.types import Array, Floats
from matching.drivers.result import Result
from matching.errors import InputError
from matching.objects.transforms import apply_transform, fit_transform, transform_errors
from matching.output.csv_text import encode_csv
from matching.pictures.decoding import map_displayed_to_stored
from matching.pictures.images import Picture
from matching.pictures.names import make_relative

MAX_IMAGES = 2**31 - 1  # the id of a pair is MAX_IMAGES id0 + id1
SIMPLE_RADIAL = 2  # COLMAP's camera model with parameters f, cx, cy, k
FOCAL_LENGTH = 1.2  # times the longer side, as COLMAP assumes for unknown cameras
MAX_ERROR = 4.0  # pixels: largest error of an inlier in COLMAP
MIN_EXPLAINED_SHARE = 0.8  # of an object's matches, by a geometry that is written; no record of a choice
GEOMETRIES = "two_view_geometries"  # COLMAP's table
APPLICATION_ID = 0x67646C6D  # "gdlm", in the SQLite files that this program writes
WRITER_ATTRIBUTE = "written_by"  # in the HDF5 files that this program writes

SCHEMA = files(__package__).joinpath("colmap.sql").read_text("utf-8")


class Geometry(IntEnum):
    """COLMAP's configurations of a two-view geometry (`TwoViewGeometry::ConfigurationType`)."""

    DEGENERATE = 1
    UNCALIBRATED = 3
    PLANAR = 4
    MULTIPLE = 8


@dataclass(frozen=True, eq=False)
class TwoViews:
    """The entry of a pair in COLMAP's table of two-view geometries."""

    config: Geometry
    fundamental: Array | None = None  # (3, 3) float64
    homography: Array | None = None  # (3, 3) float64


@dataclass(frozen=True, eq=False)
class StoredImage:
    """An image as its file stores it."""

    name: str  # in the image folder
    width: int  # pixels
    height: int
    keypoints: Array  # (n, 2) float64, pixels


@dataclass(frozen=True, eq=False)
class ExportedPair:
    """The matches of two images, as pairs of keypoints."""

    images: tuple[StoredImage, StoredImage]  # in the order in which they are written
    matches: Array  # (n, 2), rows of the keypoints
    score: Floats  # (n,), descriptor distances
    views: TwoViews | None = None  # the geometry; None if there is none to write
    verified: Array | None = None  # (m, 2), the matches that it explains; None for all


def check_names(pictures: Sequence[Picture], for_hloc: bool = False) -> None:
    """Check that COLMAP, or hloc as well, can hold the names of two pictures."""
    names = list_picture_names(pictures)
    if names[0] == names[1]:
        raise InputError(f"{names[0]}: COLMAP and hloc can't match an image with itself")
    for name in names:
        check_name(name, for_hloc)


def check_name(name: str, for_hloc: bool = False) -> None:
    """Check that COLMAP, or hloc as well, can hold the name of an image."""
    try:
        name.encode()
    except UnicodeEncodeError:
        raise InputError(f"{name!r}: COLMAP and hloc need names in UTF-8; rename the file") from None
    if for_hloc and len(name.split()) != 1:
        raise InputError(
            f"{name!r}: hloc's list of pairs can't hold a name with white space; rename the file"
        )


def list_picture_names(pictures: Sequence[Picture]) -> list[str]:
    """Name the two images of a pair as `make_relative` does."""
    paths = [picture.path for picture in pictures if picture.path is not None]
    if len(paths) < len(pictures):
        return [f"image{k}" if p.path is None else p.path.name for k, p in enumerate(pictures)]
    return make_relative(paths)


def store_image(name: str, orientation: int, width: int, height: int, xy: Floats) -> StoredImage:
    """Turn an image of a displayed size, and points (n, 2) in it, to pixels as stored."""
    turn = map_displayed_to_stored(orientation, width, height)
    size = (height, width) if turn[0, 0] == 0 else (width, height)
    return StoredImage(name, *size, apply_transform(turn, xy))


def encode_table(_: str, pictures: Sequence[Picture], result: Result) -> dict[str, bytes]:
    """Encode a result as a table with a row for each match."""
    columns = (result.cluster, *result.xy0.T, *result.xy1.T, result.score)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    head = "object", "x0", "y0", "x1", "y1", "score"
    return {"matches.csv": encode_csv([head, *(row for row in rows if row[0] >= 0)])}


def encode(kind: str, pictures: Sequence[Picture], result: Result) -> dict[str, bytes]:
    """Encode a result: the keypoints of both images are the points of the matches of objects, in order."""
    kept = result.cluster >= 0
    named = zip(list_picture_names(pictures), pictures, (result.xy0[kept], result.xy1[kept]), strict=True)
    first, second = (store_image(name, p.orientation, p.width, p.height, xy) for name, p, xy in named)
    matches = np.repeat(np.arange(kept.sum())[:, None], 2, axis=1)
    views = describe_two_views(first.keypoints + 0.5, second.keypoints + 0.5, len(result.objects))
    pair = ExportedPair((first, second), matches, result.score[kept], views)
    with TemporaryDirectory() as folder:
        WRITERS[kind](Path(folder), (first, second), [pair])
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def write_colmap(folder: Path, images: Iterable[StoredImage], pairs: Iterable[ExportedPair]) -> None:
    """Write a COLMAP database; the first image of a pair comes before its second one in `images`."""
    numbers: dict[str, int] = {}
    with closing(sqlite3.connect(folder / "database.db")) as database:
        database.executescript(f"PRAGMA application_id = {APPLICATION_ID}; {SCHEMA}")
        for number, image in enumerate(images, 1):
            numbers[image.name] = number
            _insert_image(database, number, image)
        for pair in pairs:
            first, second = (numbers[image.name] for image in pair.images)
            number = MAX_IMAGES * first + second
            insert_matches(database, number, pair.matches)
            if pair.views is not None:
                verified = pair.matches if pair.verified is None else pair.verified
                insert_geometry(database, number, verified, pair.views)
        database.commit()


def _insert_image(database: sqlite3.Connection, number: int, image: StoredImage) -> None:
    """Insert an image, its camera and its keypoints into a COLMAP database."""
    focal = FOCAL_LENGTH * max(image.width, image.height)
    camera = np.array([focal, image.width / 2, image.height / 2, 0], np.float64)
    row = number, SIMPLE_RADIAL, image.width, image.height, camera.tobytes(), 0
    database.execute("INSERT INTO cameras VALUES (?, ?, ?, ?, ?, ?)", row)
    database.execute("INSERT INTO images VALUES (?, ?, ?)", (number, image.name, number))
    keypoints = (image.keypoints + 0.5).astype(np.float32)
    row = number, *keypoints.shape, keypoints.tobytes()
    database.execute("INSERT INTO keypoints VALUES (?, ?, ?, ?)", row)


def insert_matches(database: sqlite3.Connection, pair: int, matches: Array) -> None:
    """Insert the matches (n, 2) of a pair into a COLMAP database, in place of any earlier ones."""
    matches = _drop_repeated(matches)
    row = pair, len(matches), matches.astype("<u4").tobytes()
    database.execute("INSERT OR REPLACE INTO matches (pair_id, rows, cols, data) VALUES (?, ?, 2, ?)", row)


def insert_geometry(
    database: sqlite3.Connection, pair: int, matches: Array, views: TwoViews, table: str = GEOMETRIES
) -> None:
    """Insert the geometry of a pair and the matches (n, 2) that it explains into a COLMAP database."""
    matches = _drop_repeated(matches)
    matrices = (views.fundamental, views.homography)
    blobs = (None if matrix is None else matrix.astype("<f8").tobytes() for matrix in matrices)
    database.execute(
        f"INSERT INTO {table} (pair_id, rows, cols, data, config, F, H) VALUES (?, ?, 2, ?, ?, ?, ?)",
        (pair, len(matches), matches.astype("<u4").tobytes(), views.config, *blobs),
    )


def _drop_repeated(matches: Array) -> Array:
    """Drop all but the first of equal matches (n, 2), because COLMAP's mapper aborts on a repeated one."""
    return matches[np.sort(np.unique(matches, axis=0, return_index=True)[1])]


def describe_two_views(xy0: Array, xy1: Array, n_objects: int) -> TwoViews:
    """Find COLMAP's configuration, F and H of the matches xy0, xy1 (n, 2) of some objects."""
    if n_objects != 1:
        return TwoViews(Geometry.MULTIPLE if n_objects else Geometry.DEGENERATE)
    transform, _ = fit_transform(xy0, xy1)
    if (transform_errors(transform, xy0, xy1) <= MAX_ERROR).mean() >= MIN_EXPLAINED_SHARE:
        return TwoViews(Geometry.PLANAR, homography=transform / transform[2, 2])
    fundamental, explained = opencv.fit_fundamental(xy0, xy1, MAX_ERROR)
    if fundamental is not None and explained >= MIN_EXPLAINED_SHARE:
        return TwoViews(Geometry.UNCALIBRATED, fundamental)
    return TwoViews(Geometry.MULTIPLE)


def write_hloc(folder: Path, images: Iterable[StoredImage], pairs: Iterable[ExportedPair]) -> None:
    """Write hloc's files of features and matches, and its list of pairs.

    The features have a group for each image. The matches have the group name0/name1 with the partner and the
    score of each keypoint of image 0. The score is that of nearest neighbours, (1 + cosine) / 2.
    """
    with open_hdf5(folder / "features.h5") as file:
        for image in images:
            file[f"{image.name}/keypoints"] = image.keypoints.astype(np.float32)  # half floats err by 1 px
            file[f"{image.name}/image_size"] = np.array([image.width, image.height], np.int64)
    lines = []
    with open_hdf5(folder / "matches.h5") as file:
        for pair in pairs:
            names = [image.name for image in pair.images]
            n, n_other = (len(image.keypoints) for image in pair.images)
            partner = np.full(n, -1, np.int16 if n_other < 2**15 else np.int32)
            distance = np.full(n, 2.0)  # with the score 0
            partner[pair.matches[:, 0]], distance[pair.matches[:, 0]] = pair.matches[:, 1], pair.score
            group = "/".join(name.replace("/", "-") for name in names)
            file[f"{group}/matches0"] = partner
            file[f"{group}/matching_scores0"] = (1 - distance**2 / 4).astype(np.float16)
            lines.append(" ".join(names) + "\n")
    (folder / "pairs.txt").write_bytes("".join(lines).encode())


@contextmanager
def open_hdf5(path: Path) -> Iterator[Any]:
    """Open a new HDF5 file that names this program as its writer."""
    with require_h5py().File(path, "w") as file:
        file.attrs[WRITER_ATTRIBUTE] = "gdl-match"
        yield file


WRITERS = {"colmap": write_colmap, "hloc": write_hloc}


def check_hloc(pictures: Sequence[Picture]) -> None:
    """Check that hloc's files can be written and can hold the names of two pictures."""
    require_h5py()
    check_names(pictures, for_hloc=True)


def require_h5py() -> Any:
    """Import h5py."""
    return import_optional("h5py", "hloc's format needs h5py", "h5py")
