"""Results in the layouts of other programs: a COLMAP database, hloc's HDF5 files, CSV.

Match i is keypoint i of both images, so a place that belongs to several matches (copies of an object) is
listed once for each: neither COLMAP nor hloc lets a keypoint have two partners in one image.

Pixels. COLMAP and hloc read a file as it is stored and pass over its EXIF orientation; so do the coordinates
here. In COLMAP (0.5, 0.5) is the centre of the top-left pixel, in hloc and CSV (0, 0) is. CSV counts the
pixels of the image as displayed, as matches.npz does.
"""

from __future__ import annotations

import csv
import io
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from matching import _opencv
from matching.errors import InputError
from matching.objects.description import apply_transform
from matching.output.export_formats import EXPORTS as FORMATS
from matching.pictures.decoding import stored_from_displayed
from matching.pictures.names import relative_names

FILES = {
    "colmap": ("database.db",),
    "hloc": ("features.h5", "matches.h5", "pairs.txt"),
    "csv": ("matches.csv",),
}
IMAGE_IDS = 1, 2
MAX_IMAGES = 2**31 - 1  # a pair's id is MAX_IMAGES id0 + id1
SIMPLE_RADIAL = 2  # COLMAP's camera model, parameters f, cx, cy, k
FOCAL_LENGTH = 1.2  # of the longer side, what COLMAP assumes where it knows nothing
DEGENERATE, UNCALIBRATED, PLANAR, MULTIPLE = 1, 3, 4, 8  # configurations of a two-view geometry
MAX_ERROR = 4.0  # px, COLMAP's for an inlier
MOST = 0.8  # share of an object's matches that a geometry must explain to be told

# The tables of COLMAP 3.9, which later versions bring up to date when they open the file.
SCHEMA = f"""
CREATE TABLE cameras (camera_id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, model INTEGER NOT NULL,
    width INTEGER NOT NULL, height INTEGER NOT NULL, params BLOB, prior_focal_length INTEGER NOT NULL);
CREATE TABLE images (image_id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, name TEXT NOT NULL UNIQUE,
    camera_id INTEGER NOT NULL, CONSTRAINT image_id_check CHECK(image_id >= 0 and image_id < {MAX_IMAGES}),
    FOREIGN KEY(camera_id) REFERENCES cameras(camera_id));
CREATE UNIQUE INDEX index_name ON images(name);
CREATE TABLE keypoints (image_id INTEGER PRIMARY KEY NOT NULL, rows INTEGER NOT NULL, cols INTEGER NOT NULL,
    data BLOB, FOREIGN KEY(image_id) REFERENCES images(image_id) ON DELETE CASCADE);
CREATE TABLE descriptors (image_id INTEGER PRIMARY KEY NOT NULL, rows INTEGER NOT NULL, cols INTEGER NOT NULL,
    data BLOB, FOREIGN KEY(image_id) REFERENCES images(image_id) ON DELETE CASCADE);
CREATE TABLE matches (pair_id INTEGER PRIMARY KEY NOT NULL, rows INTEGER NOT NULL, cols INTEGER NOT NULL,
    data BLOB);
CREATE TABLE two_view_geometries (pair_id INTEGER PRIMARY KEY NOT NULL, rows INTEGER NOT NULL,
    cols INTEGER NOT NULL, data BLOB, config INTEGER NOT NULL, F BLOB, E BLOB, H BLOB, qvec BLOB, tvec BLOB);
"""


@dataclass(frozen=True, eq=False)
class StoredImage:
    """An image as its file stores it: name in the image folder, width, height, keypoints (n, 2) float64 with
    (0, 0) the centre of the top-left pixel, and `turn` (3, 3), from displayed to stored pixels.
    """

    name: str
    width: int
    height: int
    keypoints: np.ndarray
    turn: np.ndarray


def check_formats(formats, pictures):
    """Raise InputError where a format can't be written: before the work, not after it."""
    for name in formats:
        if name not in FORMATS:
            raise InputError(f"export format must be one of {', '.join(FORMATS)}, got {name!r}")
    if "hloc" in formats:
        _h5py()
    if {"colmap", "hloc"} & set(formats):
        names = image_names([picture.path for picture in pictures])
        if names[0] == names[1]:
            raise InputError(f"{names[0]}: COLMAP and hloc know no pair of an image with itself")
        for name in names:
            _check_name(name, formats)


def _check_name(name, formats):
    try:
        name.encode()
    except UnicodeEncodeError:
        raise InputError(f"{name!r}: COLMAP and hloc want names in UTF-8; rename the file") from None
    if "hloc" in formats and len(name.split()) != 1:
        raise InputError(
            f"{name!r}: hloc's list of pairs can't hold a name with white space; rename the file"
        )


def exported(name, pictures, result):
    """The files of one format of FORMATS, file name -> content (bytes), of the matches that are in an object.

    pictures : two Pictures; result : their MatchResult. Equal results give equal bytes.

    Raises InputError where the format is unknown, needs a package that is missing, or can't hold the pair.
    """
    check_formats([name], pictures)
    kept = np.flatnonzero(result.cluster >= 0)
    if name == "csv":
        return {"matches.csv": _csv(result, kept)}
    images = _stored_images(pictures, result, kept)
    if name == "colmap":
        return {"database.db": _database(images, result)}
    return {
        "features.h5": _features(images),
        "matches.h5": _matches(images, result.score[kept]),
        "pairs.txt": f"{images[0].name} {images[1].name}\n".encode(),
    }


def image_names(paths):
    """Names of two files as `relative_names` has them; image0, image1 without a path."""
    if any(path is None for path in paths):
        return [f"image{k}" if path is None else Path(path).name for k, path in enumerate(paths)]
    return relative_names(paths)


def _stored_images(pictures, result, kept):
    names = image_names([picture.path for picture in pictures])
    images = []
    for name, picture, xy in zip(names, pictures, (result.xy0, result.xy1), strict=True):
        turn = stored_from_displayed(picture.orientation, picture.width, picture.height)
        size = (picture.width, picture.height)[:: -1 if turn[0, 0] == 0 else 1]
        images.append(StoredImage(name, *size, apply_transform(turn, xy[kept]), turn))
    return images


def _csv(result, kept):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["object", "x0", "y0", "x1", "y1", "score"])
    for i in kept:
        numbers = [*result.xy0[i], *result.xy1[i], result.score[i]]
        writer.writerow([int(result.cluster[i]), *(repr(float(n)) for n in numbers)])
    return text.getvalue().encode()


def _database(images, result):
    matches = np.repeat(np.arange(len(images[0].keypoints), dtype=np.uint32)[:, None], 2, axis=1)
    pair = MAX_IMAGES * IMAGE_IDS[0] + IMAGE_IDS[1], *matches.shape, matches.tobytes()
    config, fundamental, homography = _two_view_geometry(images, result)
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(SCHEMA)
        for number, image in zip(IMAGE_IDS, images, strict=True):
            focal = FOCAL_LENGTH * max(image.width, image.height)
            camera = np.array([focal, image.width / 2, image.height / 2, 0], np.float64)
            row = number, SIMPLE_RADIAL, image.width, image.height, camera.tobytes(), 0
            database.execute("INSERT INTO cameras VALUES (?, ?, ?, ?, ?, ?)", row)
            database.execute("INSERT INTO images VALUES (?, ?, ?)", (number, image.name, number))
            keypoints = (image.keypoints + 0.5).astype(np.float32)
            row = number, *keypoints.shape, keypoints.tobytes()
            database.execute("INSERT INTO keypoints VALUES (?, ?, ?, ?)", row)
        database.execute("INSERT INTO matches VALUES (?, ?, ?, ?)", pair)
        row = *pair, config, fundamental, None, homography, None, None
        database.execute("INSERT INTO two_view_geometries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        database.commit()
        return database.serialize()


def _two_view_geometry(images, result):
    """COLMAP's configuration, and the matrices F and H (blobs or None) between its pixels.

    One object that its transform explains is planar; one that a fundamental matrix explains is uncalibrated;
    several, or a bent one, are multiple geometries.
    """
    if not result.objects:
        return DEGENERATE, None, None
    if len(result.objects) > 1:
        return MULTIPLE, None, None
    turned = images[1].turn @ result.objects[0].transform @ np.linalg.inv(images[0].turn)
    residual = np.linalg.norm(apply_transform(turned, images[0].keypoints) - images[1].keypoints, axis=1)
    if (residual <= MAX_ERROR).mean() >= MOST:
        half = np.array([[1, 0, 0.5], [0, 1, 0.5], [0, 0, 1]])
        homography = half @ turned @ np.linalg.inv(half)
        return PLANAR, None, (homography / homography[2, 2]).tobytes()
    fundamental, explained = _opencv.fit_fundamental(
        images[0].keypoints + 0.5, images[1].keypoints + 0.5, MAX_ERROR
    )
    if explained >= MOST:
        return UNCALIBRATED, fundamental.tobytes(), None
    return MULTIPLE, None, None


def _features(images):
    """hloc's feature file: a group for each image with its keypoints, and the size of the image."""
    content = {}
    for image in images:
        content[f"{image.name}/keypoints"] = image.keypoints.astype(np.float32)  # half floats are 1 px coarse
        content[f"{image.name}/image_size"] = np.array([image.width, image.height], np.int64)
    return _hdf5(content)


def _matches(images, distance):
    """hloc's match file: the group name0/name1 with the partner of each keypoint of image 0, and its score.

    The score is that of hloc's nearest neighbours, (1 + cosine) / 2, of unit descriptors at this distance.
    """
    pair = "/".join(image.name.replace("/", "-") for image in images)
    n = len(distance)
    return _hdf5(
        {
            f"{pair}/matches0": np.arange(n, dtype=np.int16 if n < 2**15 else np.int32),
            f"{pair}/matching_scores0": (1 - distance**2 / 4).astype(np.float16),
        }
    )


def _hdf5(content):
    buffer = io.BytesIO()
    with _h5py().File(buffer, "w") as file:
        for name, array in content.items():
            file.create_dataset(name, data=array)
    return buffer.getvalue()


def _h5py():
    try:
        import h5py
    except ImportError:
        raise InputError("export to hloc needs the package h5py (pip install h5py)") from None
    return h5py
