"""Results in the formats of other programs: a COLMAP database, and hloc's HDF5 files.

Match i joins keypoint i of both images; a place in several matches is listed several times, since neither
COLMAP nor hloc allows a keypoint to have two partners in one image. COLMAP and hloc use pixels of the file as
stored, without EXIF orientation; in COLMAP, the centre of the top-left pixel is (0.5, 0.5).
"""

import io
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from enum import IntEnum
from importlib.resources import files
from typing import Any

import numpy as np

from matching._common import opencv
from matching._common.optional import import_optional
from matching._common.types import Array, Floats
from matching.core.result import MatchResult
from matching.errors import InputError
from matching.objects.transforms import apply_transform
from matching.pictures.decoding import map_displayed_to_stored
from matching.pictures.images import Picture
from matching.pictures.names import make_relative

MAX_IMAGES = 2**31 - 1  # the id of a pair is MAX_IMAGES id0 + id1
SIMPLE_RADIAL = 2  # COLMAP's camera model with parameters f, cx, cy, k
FOCAL_LENGTH = 1.2  # times the longer side, as COLMAP assumes for unknown cameras
MAX_ERROR = 4.0  # pixels: largest error of an inlier in COLMAP
MIN_EXPLAINED_SHARE = 0.8  # of an object's matches, by a geometry that is written; no record of a choice
GEOMETRIES = "two_view_geometries"  # COLMAP's table

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
    turn: Array  # (3, 3), from displayed to stored pixels


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


def _store_images(pictures: Sequence[Picture], result: MatchResult) -> list[StoredImage]:
    """Turn both images of a pair, and the points of the matches of objects, to pixels as stored."""
    kept = result.cluster >= 0
    names = list_picture_names(pictures)
    images = []
    for name, picture, xy in zip(names, pictures, (result.xy0, result.xy1), strict=True):
        turn = map_displayed_to_stored(picture.orientation, picture.width, picture.height)
        width, height = (picture.width, picture.height)[:: -1 if turn[0, 0] == 0 else 1]
        images.append(StoredImage(name, width, height, apply_transform(turn, xy[kept]), turn))
    return images


def encode_csv(pictures: Sequence[Picture], result: MatchResult) -> dict[str, bytes]:
    """Encode a result as a table with a row for each match."""
    columns = (result.cluster, *result.xy0.T, *result.xy1.T, result.score)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    lines = [",".join(map(repr, row)) for row in rows if row[0] >= 0]
    return {"matches.csv": "\n".join(["object,x0,y0,x1,y1,score", *lines, ""]).encode()}


def encode_colmap(pictures: Sequence[Picture], result: MatchResult) -> dict[str, bytes]:
    """Encode a result as a COLMAP database."""
    images = _store_images(pictures, result)
    matches = np.repeat(np.arange(len(images[0].keypoints))[:, None], 2, axis=1)
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(SCHEMA)
        for number, image in enumerate(images, 1):
            insert_image(database, number, image)
        insert_matches(database, MAX_IMAGES + 2, matches)
        insert_geometry(database, MAX_IMAGES + 2, matches, _describe_two_views(images, result))
        database.commit()
        return {"database.db": database.serialize()}


def insert_image(database: sqlite3.Connection, number: int, image: StoredImage) -> None:
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


def _describe_two_views(images: list[StoredImage], result: MatchResult) -> TwoViews:
    """Find the geometry of a result; several objects give the configuration of multiple geometries."""
    if len(result.objects) != 1:
        return TwoViews(Geometry.MULTIPLE if result.objects else Geometry.DEGENERATE)
    turned = images[1].turn @ result.objects[0].transform @ np.linalg.inv(images[0].turn)
    half = np.array([[1, 0, 0.5], [0, 1, 0.5], [0, 0, 1]])
    xy0, xy1 = (image.keypoints + 0.5 for image in images)
    return two_view_geometry(xy0, xy1, half @ turned @ np.linalg.inv(half))


def two_view_geometry(xy0: Array, xy1: Array, transform: Array) -> TwoViews:
    """Find COLMAP's configuration, F and H of an object: xy0, xy1 (n, 2); transform (3, 3)."""
    residual = np.linalg.norm(apply_transform(transform, xy0) - xy1, axis=1)
    if (residual <= MAX_ERROR).mean() >= MIN_EXPLAINED_SHARE:
        return TwoViews(Geometry.PLANAR, homography=transform / transform[2, 2])
    fundamental, explained = opencv.fit_fundamental(xy0, xy1, MAX_ERROR)
    if fundamental is not None and explained >= MIN_EXPLAINED_SHARE:
        return TwoViews(Geometry.UNCALIBRATED, fundamental)
    return TwoViews(Geometry.MULTIPLE)


def encode_hloc(pictures: Sequence[Picture], result: MatchResult) -> dict[str, bytes]:
    """Encode a result as hloc's files of features and matches, and its list of pairs.

    The features have a group for each image. The matches have the group name0/name1 with the partner and the
    score of each keypoint of image 0.
    """
    images, distance = _store_images(pictures, result), result.score[result.cluster >= 0]
    names = [image.name for image in images]
    partner = np.arange(len(distance), dtype=np.int16 if len(distance) < 2**15 else np.int32)
    return {
        "features.h5": encode_hdf5({k: v for image in images for k, v in list_features(image).items()}),
        "matches.h5": encode_hdf5(list_partners(names, partner, distance)),
        "pairs.txt": f"{names[0]} {names[1]}\n".encode(),
    }


def list_features(image: StoredImage) -> dict[str, Array]:
    """List hloc's arrays of an image by their names."""
    return {
        f"{image.name}/keypoints": image.keypoints.astype(np.float32),  # half floats err by 1 px
        f"{image.name}/image_size": np.array([image.width, image.height], np.int64),
    }


def list_partners(names: Sequence[str], partner: Array, distance: Floats) -> dict[str, Array]:
    """List hloc's arrays of two images by their names: the partner (n,) of each keypoint of the first.

    The score of a match is that of nearest neighbours, (1 + cosine) / 2, from its descriptor distance (n,).
    """
    pair = "/".join(name.replace("/", "-") for name in names)
    score = (1 - distance**2 / 4).astype(np.float16)
    return {f"{pair}/matches0": partner, f"{pair}/matching_scores0": score}


def encode_hdf5(content: Mapping[str, Array]) -> bytes:
    """Make an HDF5 file of arrays, whose names are paths of groups."""
    buffer = io.BytesIO()
    with require_h5py().File(buffer, "w") as file:
        for name, array in content.items():
            file.create_dataset(name, data=array)
    return buffer.getvalue()


def check_hloc(pictures: Sequence[Picture]) -> None:
    """Check that hloc's files can be written and can hold the names of two pictures."""
    require_h5py()
    check_names(pictures, for_hloc=True)


def require_h5py() -> Any:
    """Import h5py."""
    return import_optional("h5py", "hloc's format needs h5py", "h5py")
