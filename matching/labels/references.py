"""References: whole pictures, parts that masks show, or parts that existing labels outline.

Label files measure pixels from the corner of the top-left pixel, but this program measures from its centre.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import yaml

from matching._common import opencv
from matching._common.types import Floats
from matching.errors import InputError, one_line
from matching.pictures.formats import find_picture_suffixes, find_pictures
from matching.pictures.images import Picture, add_mask, read_picture
from matching.pictures.names import is_file, is_folder

Polygon = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Reference:
    """A wanted thing, as one picture shows it.

    Parameters
    ----------
    name : str
        Its class.
    path : str
        The picture.
    polygon : tuple of (float, float), optional
        Its outline in the picture, pixels; (0, 0) is the centre of the top-left pixel. By default, the thing
        is the whole picture, or what the mask shows.
    mask : str, optional
        A picture of the same size, white where the thing is.
    """

    name: str
    path: str
    polygon: Polygon | None = None
    mask: str | None = None

    def read(self) -> Picture:
        """Read the picture, masked to the thing."""
        picture = add_mask(read_picture(self.path), self.mask)
        if self.polygon is None:
            return picture
        inside = opencv.fill_polygons(picture.rgb.shape[:2], [np.array(self.polygon)])
        if not inside.any():
            raise InputError(f"{self.path}: the outline of {self.name} lies outside the picture")
        return add_mask(picture, inside)


def read_references(
    paths: Sequence[Path], masks: Sequence[Path] = (), folder: Path | None = None
) -> tuple[Reference, ...]:
    """Read the references.

    Parameters
    ----------
    paths : sequence of Path
        Pictures, each a class with the name of its file; folders of pictures, each folder a class; and
        label files: COCO's or LabelMe's .json, or YOLO's .txt.
    masks : sequence of Path
        One mask for each picture, in the same order, or no masks at all.
    folder : Path, optional
        Another folder in which the pictures of label files may be.

    Returns
    -------
    tuple of Reference
        The references, at least one.

    Raises
    ------
    InputError
        A file is missing or holds no labels, or the numbers of masks and pictures differ.
    """
    found: list[Reference] = []
    unused = list(masks)
    for path in paths:
        if is_folder(path):
            found += [Reference(path.resolve().name, str(picture)) for picture in find_pictures(path)]
        elif not is_file(path):
            raise InputError(f"{path}: no such file")
        elif path.suffix.lower() in (".json", ".txt"):
            found += _read_labels(path, folder)
        else:
            found.append(Reference(path.stem, str(path), None, str(unused.pop(0)) if unused else None))
            if masks and found[-1].mask is None:
                raise InputError(f"{path}: has no --mask: give a mask for each picture, or for none")
    if unused:
        raise InputError(f"--mask {unused[0]}: there are more masks than pictures")
    return tuple(found)


def _read_labels(path: Path, folder: Path | None) -> list[Reference]:
    try:
        text = _read(path)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: can't be read ({getattr(error, 'strerror', None) or error})") from None
    try:
        read = _read_yolo if path.suffix.lower() == ".txt" else _read_json
        found = list(read(path, text, [] if folder is None else [folder]))
    except InputError:
        raise
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else f"{type(error).__name__}: {error}"
        raise InputError(f"{path}: is not a label file of COCO, LabelMe or YOLO ({reason})") from None
    if not found:
        raise InputError(f"{path}: has no boxes and no polygons")
    return found


def _read_json(path: Path, text: str, others: Sequence[Path]) -> Iterator[Reference]:
    document = json.loads(text)
    if "shapes" in document:
        picture = _find_picture(path, document["imagePath"], others)
        for shape in document["shapes"]:
            points = np.array(shape["points"], np.float64).reshape(-1, 2)
            polygon = _outline_shape(shape.get("shape_type") or "polygon", points)
            if polygon is not None:
                yield _make_reference(str(shape["label"]), picture, polygon)
    else:
        if isinstance(folder := (document.get("info") or {}).get("folder"), str):  # as this program writes it
            others = [*others, path.parent / folder]
        names = {entry["id"]: str(entry["name"]) for entry in document["categories"]}
        files = {entry["id"]: entry["file_name"] for entry in document["images"]}
        for entry in document["annotations"]:
            if not entry.get("iscrowd"):
                picture = _find_picture(path, files[entry["image_id"]], others)
                yield _make_reference(names[entry["category_id"]], picture, _outline_annotation(entry))


def _outline_shape(kind: str, points: Floats) -> Floats | None:
    """Outline a shape of LabelMe; return None if it has no area."""
    if kind == "polygon" and len(points) >= 3:
        return points
    if kind == "circle" and len(points) == 2:
        angles = np.arange(0, 2 * math.pi, math.pi / 16)
        radius = np.linalg.norm(points[1] - points[0])
        return np.asarray(points[0] + radius * np.column_stack([np.cos(angles), np.sin(angles)]))
    return _box(*points.min(axis=0), *points.max(axis=0)) if kind == "rectangle" and len(points) > 1 else None


def _outline_annotation(entry: Mapping[str, Any]) -> Floats:
    """Outline an annotation of COCO by its longest polygon, or by its box if there are no polygons."""
    polygons = entry.get("segmentation") or []
    if isinstance(polygons, list) and polygons:
        return np.array(max(polygons, key=len), np.float64).reshape(-1, 2)
    left, top, width, height = entry["bbox"]
    return _box(left, top, left + width, top + height)


def _read_yolo(path: Path, text: str, others: Sequence[Path]) -> Iterator[Reference]:
    data, classes = _find_near(path, "data.yaml"), _find_near(path, "classes.txt")
    settings = {} if data is None else _read_yaml(data)
    if data is not None and "path" in settings:
        others = [*others, data.parent / str(settings["path"])]
    names = (settings.get("names") or {}) if classes is None else _read(classes).splitlines()
    names = dict(enumerate(names)) if isinstance(names, list) else names
    suffixes = [each for suffix in sorted(find_picture_suffixes()) for each in (suffix, suffix.upper())]
    picture = _find_picture(path, path.stem, others, suffixes)
    size = np.array([(image := read_picture(picture)).width, image.height])
    for line in filter(None, map(str.split, text.splitlines())):
        number, values = int(line[0]), [float(word) for word in line[1:]]
        if len(values) in (4, 5):  # a box, perhaps with a confidence
            x, y, width, height = values[:4]
            polygon = _box(x - width / 2, y - height / 2, x + width / 2, y + height / 2)
        else:
            polygon = np.array(values).reshape(-1, 2)
        yield _make_reference(str(names.get(number, f"class {number}")), picture, polygon * size)


def _find_near(path: Path, name: str) -> Path | None:
    """Find a file in the folder of the labels or in one of the two above."""
    folders = list(path.resolve().parents)[:3]
    return next((folder / name for folder in folders if is_file(folder / name)), None)


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        settings = yaml.safe_load(_read(path)) or {}
    except yaml.YAMLError as error:
        raise InputError(f"{path}: is not YAML ({one_line(error)})") from None
    if not isinstance(settings, dict):
        raise InputError(f"{path}: must be a mapping, such as 'names: [cup, plate]'")
    return settings


def _read(path: Path) -> str:
    return path.read_text("utf-8-sig")


def _find_picture(path: Path, name: str, others: Sequence[Path], suffixes: Sequence[str] = ("",)) -> str:
    """Find the picture of a label file by its name, to which one of some suffixes may have to be added.

    It may be in the folder of the file or the one above, in their folders `images`, or in another folder.
    """
    name = str(name).replace("\\", "/")
    here, inside = path.absolute().parent, Path()  # the command may run inside the folder labels
    folders = [here, here / "images"]
    labels = next((folder for folder in (here, *here.parents) if folder.name == "labels"), None)
    if labels is not None:  # as in YOLO's data sets: labels/train belongs to images/train
        inside = here.relative_to(labels)
        folders.append(labels.parent / "images" / inside)
    folders += [here.parent, here.parent / "images", *(other / inside for other in others), *others]
    for folder in folders:
        for tried in (name, PurePosixPath(name).name):
            for suffix in suffixes:
                if is_file(folder / (tried + suffix)):
                    return str(folder / (tried + suffix))
    raise InputError(
        f"{path}: there is no picture {name} beside it, in images, in the folder above or its images, in the"
        " folder that the labels name, or in the folder to label"
    )


def _make_reference(name: str, picture: str, polygon: Floats) -> Reference:
    """Make a reference from an outline in coordinates from the corner of the first pixel."""
    if not np.isfinite(polygon).all():
        raise ValueError("a coordinate is not a number")
    x, y = (polygon - 0.5).T.tolist()
    return Reference(name, picture, tuple(zip(x, y, strict=True)))


def _box(left: float, top: float, right: float, bottom: float) -> Floats:
    return np.array([[left, top], [right, top], [right, bottom], [left, bottom]], np.float64)
