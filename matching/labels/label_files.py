"""Label files of COCO, LabelMe, YOLO, Pascal VOC and of tables: the outlines of things in pictures.

Coordinates are pixels from the corner of the top-left pixel.
"""

import base64
import csv
import json
import math
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any
from xml.etree import ElementTree

import numpy as np
import yaml

from matching._common import opencv
from matching._common.optional import import_optional
from matching._common.types import Array, Floats
from matching.errors import InputError, OneLineErrors, one_line
from matching.objects.transforms import apply_transform
from matching.pictures.decoding import decode, map_displayed_to_stored
from matching.pictures.formats import find_picture_suffixes
from matching.pictures.images import Picture, make_picture, read_picture
from matching.pictures.names import is_file

CIRCLE_STEP = math.pi / 16  # radians between the corners of a circle's outline
KINDS = "COCO, LabelMe, YOLO or Pascal VOC, or a table of boxes"
BOX = "xmin", "ymin", "xmax", "ymax"  # of Pascal VOC, and the columns of tables
MAX_SHARE = 1.01  # of a picture's side that a number of YOLO may have, which is the bound of Ultralytics


@dataclass(frozen=True)
class Label:
    """A thing that a label file outlines in a picture."""

    name: str  # of its class
    picture: str
    kind: str  # of its shape, in words of the file
    stated: str  # the name of the picture in the file
    polygons: list[Floats] = field(default_factory=list)  # (k, 2) each; none if the shape has no area


def read_label_file(path: Path, others: Sequence[Path]) -> list[Label]:
    """Read the labels that have an area, and warn of the others; the pictures may be in other folders."""
    with OneLineErrors(path, "can't be read"):
        text = _read(path)
    try:
        labels = list(READERS[path.suffix.lower()](path, text, others))
    except InputError:
        raise
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, ElementTree.ParseError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else f"{type(error).__name__}: {error}"
        raise InputError(f"{path}: is not a label file of {KINDS} ({reason})") from None
    found = [label for label in labels if label.polygons]
    kinds = Counter(label.kind for label in labels if not label.polygons)
    counted = ", ".join(f"{n} of kind {kind}" for kind, n in kinds.items())
    if not found:
        raise InputError(f"{path}: has no boxes and no polygons" + (f", but {counted}" if counted else ""))
    if counted:
        warnings.warn(f"{path}: labels without an area are left out: {counted}", stacklevel=3)
    moved = {x.stated: x.picture for x in found if "/" in x.stated and not x.picture.endswith(x.stated)}
    if moved:
        stated, taken = next(iter(moved.items()))
        n = f"{len(moved)} of its pictures" if len(moved) > 1 else "its picture"
        warnings.warn(f"{path}: {n} not in the folder it names: {taken} instead of {stated}", stacklevel=3)
    return found


def read_labelled_picture(path: str) -> Picture:
    """Read the picture of a label: a file, or what a file of LabelMe holds."""
    if not path.lower().endswith(".json"):
        return read_picture(path)
    with OneLineErrors(path, "can't be read"):
        document = json.loads(_read(Path(path)))
    return make_picture(base64.b64decode(document["imageData"]), path)


def _read_json(path: Path, text: str, others: Sequence[Path]) -> Iterator[Label]:
    document = json.loads(text)
    first = next(iter(document if isinstance(document, list) else document.values()), None)
    entries = first if isinstance(first, dict) else {}
    program = "Label Studio" if "annotations" in entries or "data" in entries else "VIA"
    if program == "Label Studio" or "regions" in entries or "_via_settings" in document:
        raise InputError(f"{path}: is a project of {program}, which can't be read: export it as COCO")
    yield from (_read_labelme if "shapes" in document else _read_coco)(path, document, others)


def _read_labelme(path: Path, document: dict[str, Any], others: Sequence[Path]) -> Iterator[Label]:
    try:
        picture, stated = _find_picture(path, document["imagePath"], others)
    except InputError:
        if not document.get("imageData"):
            raise
        picture, stated = str(path), path.name
    to_picture = _map_to_picture(path, picture, document.get("imageWidth"), document.get("imageHeight"))
    labels: dict[object, Label] = {}  # by number, or by class and group
    for number, shape in enumerate(document["shapes"]):
        kind, group = str(shape.get("shape_type") or "polygon"), shape.get("group_id")
        polygons = [apply_transform(to_picture, polygon) for polygon in _outline_shape(kind, shape)]
        key = number if group is None or not polygons else (shape["label"], group)
        label = labels.setdefault(key, Label(str(shape["label"]), picture, kind, stated))
        label.polygons.extend(polygons)
    yield from labels.values()


def _outline_shape(kind: str, shape: Mapping[str, Any]) -> list[Floats]:
    """Outline a shape of LabelMe, or of programs that write its format."""
    points = np.array(shape["points"], np.float64).reshape(-1, 2)
    if kind == "mask":
        mask = decode(base64.b64decode(shape["mask"]), f"mask of {shape['label']}")[0]
        return [outline + 0.5 + points[0] for outline in opencv.trace_outlines(mask > 0)]
    if kind == "circle" and len(points) == 2:
        angles = np.arange(0, 2 * math.pi, CIRCLE_STEP)
        radius = np.linalg.norm(points[1] - points[0])
        return [points[0] + radius * np.column_stack([np.cos(angles), np.sin(angles)])]
    if kind == "rectangle" and len(points) > 1:
        return [_box(*points.min(axis=0), *points.max(axis=0))]
    has_area = len(points) >= 3 and kind not in ("points", "line", "linestrip")
    return [points] if has_area else []


def _read_coco(path: Path, document: dict[str, Any], others: Sequence[Path]) -> Iterator[Label]:
    if isinstance(folder := (document.get("info") or {}).get("folder"), str):  # as this program writes it
        others = [*others, path.parent / folder]
    # some programs write the ids of one list as numbers and those of another as texts
    names = {str(entry["id"]): str(entry["name"]) for entry in document["categories"]}
    images = {str(entry["id"]): entry for entry in document["images"]}
    places: dict[str, tuple[str, str, Array]] = {}
    for entry in document["annotations"]:
        if (number := str(entry["image_id"])) not in places:
            picture, stated = _find_picture(path, images[number]["file_name"], others)
            size = images[number].get("width"), images[number].get("height")
            places[number] = picture, stated, _map_to_picture(path, picture, *size)
        picture, stated, to_picture = places[number]
        polygons = [apply_transform(to_picture, polygon) for polygon in _outline_annotation(path, entry)]
        yield Label(names[str(entry["category_id"])], picture, "annotation", stated, polygons)


def _outline_annotation(path: Path, entry: Mapping[str, Any]) -> list[Floats]:
    """Outline an annotation of COCO by its polygons or its mask, or by its box if it has neither."""
    shapes = entry.get("segmentation") or []
    if isinstance(shapes, dict):
        coder = import_optional("pycocotools.mask", f"{path}: run lengths need pycocotools", "pycocotools")
        is_list = isinstance(shapes["counts"], list)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # NumPy warns of pycocotools itself
            mask = coder.decode(coder.frPyObjects(shapes, *shapes["size"]) if is_list else shapes)
        return [outline + 0.5 for outline in opencv.trace_outlines(mask > 0)]
    polygons = [np.array(shape, np.float64).reshape(-1, 2) for shape in shapes if np.size(shape) >= 6]
    box = np.array(entry.get("bbox") or [0] * 4, np.float64)
    if polygons or not box[2:].all():
        return polygons
    return [_turn(_box(*box[:2], *(box[:2] + box[2:])), _get_rotation(entry))]


def _get_rotation(entry: Mapping[str, Any]) -> float:
    """The degrees by which the box of an annotation is turned clockwise, as CVAT writes it."""
    attributes = entry.get("attributes")
    return float(attributes.get("rotation") or 0) if isinstance(attributes, dict) else 0.0


def _turn(box: Floats, degrees: float) -> Floats:
    """Turn a box (4, 2) clockwise about its middle."""
    angle, middle = math.radians(degrees), box.mean(axis=0)
    across = np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
    return np.asarray((box - middle) @ across + middle)


def _read_voc(path: Path, text: str, others: Sequence[Path]) -> Iterator[Label]:
    """Read a file of Pascal VOC, one picture each."""
    root = ElementTree.fromstring(text)
    picture, stated = _find_picture(path, _get_text(root, "filename"), others)
    sides = [root.findtext(f"size/{side}") for side in ("width", "height")]
    to_picture = _map_to_picture(path, picture, *(float(side) if side else None for side in sides))
    for entry in root.iter("object"):
        box = [float(_get_text(entry, f"bndbox/{name}")) for name in BOX]
        polygon = apply_transform(to_picture, _box(*box))
        yield Label(_get_text(entry, "name"), picture, "object", stated, [polygon])


def _get_text(element: ElementTree.Element, name: str) -> str:
    if not (text := element.findtext(name)):
        raise KeyError(name)
    return text


def _read_table(path: Path, text: str, others: Sequence[Path]) -> Iterator[Label]:
    """Read a table with a line for each box."""
    for line in csv.DictReader(text.splitlines()):
        picture, stated = _find_picture(path, line["filename"], others)
        sides = [float(line[side]) if line.get(side) else None for side in ("width", "height")]
        box = _box(*(float(line[name]) for name in BOX))
        polygon = apply_transform(_map_to_picture(path, picture, *sides), box)
        yield Label(line["class"], picture, "line", stated, [polygon])


def _read_yolo(path: Path, text: str, others: Sequence[Path]) -> Iterator[Label]:
    data, classes = _find_near(path, "data.yaml"), _find_near(path, "classes.txt")
    settings = {} if data is None else _read_yaml(data)
    if data is not None and "path" in settings:
        others = [*others, data.parent / str(settings["path"])]
    names = (settings.get("names") or {}) if classes is None else _read(classes).splitlines()
    names = dict(enumerate(names)) if isinstance(names, list) else {int(k): v for k, v in names.items()}
    suffixes = [each for suffix in sorted(find_picture_suffixes()) for each in (suffix, suffix.upper())]
    picture, stated = _find_picture(path, path.stem, others, suffixes)
    size = np.array([(image := read_picture(picture)).width, image.height])
    for line in filter(None, map(str.split, text.splitlines())):
        polygon = _outline_line(line[1:], has_points="kpt_shape" in settings)
        name = names.get(int(line[0]), f"class {int(line[0])}")
        yield Label(str(name), picture, "line", stated, [polygon * size])


def _outline_line(words: Sequence[str], *, has_points: bool) -> Floats:
    """Outline a line of YOLO: a box or a polygon, then perhaps key points, the confidence, and the track."""
    values, n = np.array(words, np.float64), len(words)
    has_track = n > 5 and words[-1].isdecimal() and (values[-1] > 1 or n == 6)
    has_visibility = n % 3 == 1 and np.isin(values[6::3], (0, 1, 2)).all() and 2 in values[6::3]
    is_box = has_points or has_visibility or n - has_track <= 5
    corners = values[: 4 if is_box else (n - has_track) // 2 * 2].reshape(-1, 2)
    if not (np.abs(corners - 0.5) <= MAX_SHARE - 0.5).all():
        raise ValueError(f"coordinates must be from 0 to 1, got {' '.join(words)}")
    if not is_box:
        return corners
    (x, y), (width, height) = corners
    return _box(x - width / 2, y - height / 2, x + width / 2, y + height / 2)


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


def _find_picture(
    path: Path, name: str, others: Sequence[Path], suffixes: Sequence[str] = ("",)
) -> tuple[str, str]:
    """Find the picture of a label file by its name, to which one of some suffixes may have to be added.

    It may be in the folder of the file or the one above, in their folders `images`, or in another folder.
    The name is returned, too, with / as separator.
    """
    name = PurePosixPath(str(name).replace("\\", "/")).as_posix()
    here, inside = path.absolute().parent, Path()  # the command may run inside the folder labels
    folders = [here, here / "images"]
    labels = next((folder for folder in (here, *here.parents) if folder.name == "labels"), None)
    if labels is not None:  # as in YOLO's data sets: labels/train belongs to images/train
        inside = here.relative_to(labels)
        folders.append(labels.parent / "images" / inside)
    folders += [here.parent, here.parent / "images", *(other / inside for other in others), *others]
    for tried in (name, PurePosixPath(name).name):
        for folder in folders:
            for suffix in suffixes:
                if is_file(folder / (tried + suffix)):
                    return str(folder / (tried + suffix)), name
    raise InputError(
        f"{path}: there is no picture {name} beside it, in images, in the folder above or its images, in the"
        " folder that the labels name, or in the folder to label"
    )


def _map_to_picture(path: Path, picture: str, width: float | None, height: float | None) -> Array:
    """Map (3, 3) from the pixels of a label file, which states their size, if any, to those of its picture.

    Many programs label the pixels as they are stored, before EXIF turns the picture upright.
    """
    image = read_labelled_picture(picture)
    shown, turn = np.array([image.width, image.height], np.float64), np.eye(3)
    if not width or not height:
        return turn
    stated = np.array([width, height])
    stored = map_displayed_to_stored(image.orientation, image.width, image.height)
    if stored[0, 0] == 0 and (width > height) != (image.width > image.height):
        to_corner = np.array([[1, 0, 0.5], [0, 1, 0.5], [0, 0, 1]])
        turn = to_corner @ np.linalg.inv(stored) @ np.linalg.inv(to_corner)
    scale = (shown if turn[0, 0] else shown[::-1]) / stated
    if abs(scale[0] / scale[1] - 1) > 1 / min(*shown, *stated):  # sides are rounded to whole pixels
        size = f"{image.width} x {image.height}"
        raise InputError(f"{path}: labels a picture of {width} x {height}, but {picture} has {size}")
    return turn @ np.diag([*scale, 1.0])


def _box(left: float, top: float, right: float, bottom: float) -> Floats:
    return np.array([[left, top], [right, top], [right, bottom], [left, bottom]], np.float64)


READERS = {".json": _read_json, ".txt": _read_yolo, ".xml": _read_voc, ".csv": _read_table}
