"""The photographs in composites, from two folders or from installed packages.

A picture is an (h, w, 3) uint8 array, RGB.
"""

from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import skimage.data
import sklearn.datasets

from synth._types import Picture

SUFFIXES = frozenset({".bmp", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp"})

# (file, x, y, side) of square crops. No photograph serves both as an object and as a background, crops do
# not overlap, and all files are inside the wheels, so that nothing is ever downloaded.
_SHIPPED_MODELS = (
    ("astronaut.png", 0, 212, 300),
    ("camera.png", 40, 0, 400),
    ("china.jpg", 40, 0, 427),
    ("coffee.png", 100, 0, 400),
    ("coins.png", 0, 0, 303),
    ("flower.jpg", 100, 0, 427),
    ("ihc.png", 0, 0, 320),
    ("motorcycle_left.png", 150, 120, 380),
)
_SHIPPED_TILES = (
    ("brick.png", 0, 0, 320),
    ("cell.png", 170, 200, 380),
    ("chelsea.png", 75, 0, 300),
    ("grass.png", 0, 0, 256),
    ("grass.png", 256, 256, 256),
    ("gravel.png", 0, 0, 256),
    ("gravel.png", 256, 256, 256),
    ("hubble_deep_field.jpg", 0, 0, 430),
    ("hubble_deep_field.jpg", 500, 0, 430),
    ("hubble_deep_field.jpg", 0, 440, 430),
    ("hubble_deep_field.jpg", 500, 440, 430),
    ("moon.png", 0, 0, 256),
    ("moon.png", 180, 256, 256),
    ("retina.jpg", 180, 500, 400),
    ("retina.jpg", 700, 200, 400),
    ("retina.jpg", 700, 700, 400),
    ("retina.jpg", 250, 910, 340),
    ("rocket.jpg", 150, 20, 400),
)


@dataclass(frozen=True, eq=False)
class Photographs:
    """Pictures for composites.

    Parameters
    ----------
    models : tuple of (h, w, 3) uint8
        Pictures that become common objects, RGB.
    tiles : tuple of (h, w, 3) uint8
        Pictures for the places around them, RGB.
    name : str
        Where they come from.
    """

    models: tuple[Picture, ...]
    tiles: tuple[Picture, ...]
    name: str


def read_picture(path: str | Path) -> Picture:
    """Read an image file, and apply its EXIF orientation.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    (h, w, 3) uint8
        The picture, RGB.

    Raises
    ------
    ValueError
        If the file is not an image.
    """
    data = np.fromfile(path, np.uint8)
    picture = cv2.imdecode(data, cv2.IMREAD_COLOR) if data.size else None
    if picture is None:
        raise ValueError(f"{path} must be an image file, but it can't be read as one")
    return np.asarray(cv2.cvtColor(picture, cv2.COLOR_BGR2RGB), np.uint8)


def read_folder(folder: str | Path) -> tuple[Picture, ...]:
    """Read every image file of a folder.

    Parameters
    ----------
    folder : str or Path
        The folder; files of other kinds in it are ignored.

    Returns
    -------
    tuple of (h, w, 3) uint8
        The pictures, in the order of the file names.

    Raises
    ------
    ValueError
        If the folder does not exist, or has no image.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ValueError(f"{folder} must be a folder of images, but there is no such folder")
    paths = sorted(p for p in folder.iterdir() if p.suffix.lower() in SUFFIXES)
    if not paths:
        raise ValueError(f"{folder} must hold images ({', '.join(sorted(SUFFIXES))}), found none")
    return tuple(read_picture(p) for p in paths)


def read_folders(models: str | Path, tiles: str | Path) -> Photographs:
    """Read a folder of objects and a folder of other photographs.

    Parameters
    ----------
    models : str or Path
        Folder of the objects.
    tiles : str or Path
        Folder of the other photographs.

    Returns
    -------
    Photographs
        The pictures of both, named after the folders.
    """
    name = f"{Path(models).resolve().name}+{Path(tiles).resolve().name}"
    return Photographs(read_folder(models), read_folder(tiles), name)


def read_shipped() -> Photographs:
    """Read square crops of the photographs that scikit-image and scikit-learn ship.

    Returns
    -------
    Photographs
        8 objects and 18 tiles.
    """
    return Photographs(tuple(map(_crop, _SHIPPED_MODELS)), tuple(map(_crop, _SHIPPED_TILES)), "shipped")


def _crop(entry: tuple[str, int, int, int]) -> Picture:
    file, x, y, side = entry
    return _read_shipped_picture(file)[y : y + side, x : x + side]


def _read_shipped_picture(file: str) -> Picture:
    folders = Path(skimage.data.__file__).parent, Path(sklearn.datasets.__file__).parent / "images"
    return read_picture(next(path for folder in folders if (path := folder / file).exists()))
