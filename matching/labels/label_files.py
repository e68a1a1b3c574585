"""Label files of COCO, LabelMe, YOLO, Pascal VOC and of tables: the outlines of things in pictures.

Coordinates are pixels from the corner of the top-left pixel.
"""

import base64
import csv
import json
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path, PurePosixPath
from typing import Any
from xml.etree import ElementTree

import numpy as np
import shapely
import shapely.affinity
import yaml

from matching._common import opencv
from matching._common.optional import import_optional
from matching._common.types import Floats
from matching.errors import InputError, OneLineErrors, one_line
from matching.objects.frames import list_corners
from matching.objects.transforms import apply_transform
from matching.pictures.decoding import decode, map_displayed_to_stored
from matching.pictures.formats import find_picture_suffixes
from matching.pictures.images import Picture, make_picture, read_picture
from matching.pictures.names import is_file

CIRCLE_CORNERS = 8  # of a quarter of a circle's outline
KINDS = "COCO, LabelMe, YOLO or Pascal VOC, or a table of boxes"
BOX = "xmin", "ymin", "xmax", "ymax"  # of Pascal VOC, and the columns of tables
MAX_SHARE = 1.01  # of a picture's side that a number of YOLO may have, which is the bound of Ultralytics


@dataclass(frozen=True)
class Label:
    """A thing that a label file outlines in a picture."""

    name: str  # of its class
    kind: str  # of its shape, in words of the file
    picture: str
    stated: str  # the name of the picture in the file
    polygons: list[Floats]  # (k, 2) each; none if the shape has no area


@dataclass(frozen=True)
class Located:
    """The picture of some labels."""

    picture: str
    stated: str  # its name in the file
    size: Floats  # (2,), its width and height, pixels
    to_picture: Floats  # (3, 3), maps pixels of the label file to its pixels

    def label(self, name: object, kind: str, polygons: Iterable[Floats]) -> Label:
        """Make a label with polygons (k, 2) in pixels of the label file."""
        mapped = [apply_transform(self.to_picture, polygon) for polygon in polygons]
        return Label(str(name), kind, self.picture, self.stated, mapped)


# finds a picture by its name in the file, and the width and height that the file states, if any
Locate = Callable[..., Located]


def read_label_file(path: Path, others: Sequence[Path]) -> list[Label]:
    """Read the labels that have an area, and warn of the others; the pictures may be in other folders."""
    with OneLineErrors(path, "can't be read"):
        text = _read(path)
    try:
        # it reads the picture, which may have many labels
        locate: Locate = cache(partial(_locate, path, others))
        labels = list(READERS[path.suffix.lower()](path, text, locate))
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


def _read_json(path: Path, text: str, locate: Locate) -> Iterator[Label]:
    document = json.loads(text)
    first = next(iter(document if isinstance(document, list) else document.values()), None)
    entries = first if isinstance(first, dict) else {}
    program = "Label Studio" if "annotations" in entries or "data" in entries else "VIA"
    if program == "Label Studio" or "regions" in entries or "_via_settings" in document:
        raise InputError(f"{path}: is a project of {program}, which can't be read: export it as COCO")
    yield from (_read_labelme if "shapes" in document else _read_coco)(path, document, locate)


def _read_labelme(path: Path, document: dict[str, Any], locate: Locate) -> Iterator[Label]:
    size = document.get("imageWidth"), document.get("imageHeight")
    try:
        located = locate(document["imagePath"], *size)
    except InputError:
        if not document.get("imageData"):
            raise
        located = Located(str(path), path.name, *_map_to_picture(path, str(path), *size))
    labels: dict[object, Label] = {}  # by number, or by class and group
    for number, shape in enumerate(document["shapes"]):
        kind, group = str(shape.get("shape_type") or "polygon"), shape.get("group_id")
        label = located.label(shape["label"], kind, _outline_shape(kind, shape))
        key = number if group is None or not label.polygons else (label.name, group)
        if labels.setdefault(key, label) is not label:
            labels[key].polygons.extend(label.polygons)
    yield from labels.values()


def _outline_shape(kind: str, shape: Mapping[str, Any]) -> list[Floats]:
    """Outline a shape of LabelMe, or of programs that write its format."""
    points = np.array(shape["points"], np.float64).reshape(-1, 2)
    if kind == "mask":
        mask = decode(base64.b64decode(shape["mask"]), f"mask of {shape['label']}")[0]
        return [outline + 0.5 + points[0] for outline in opencv.trace_outlines(mask > 0)]
    if kind == "circle" and len(points) == 2:
        circle = shapely.Point(points[0]).buffer(np.linalg.norm(points[1] - points[0]), CIRCLE_CORNERS)
        return [shapely.get_coordinates(circle)[:-1]]
    if kind == "rectangle" and len(points) > 1:
        return [list_corners(np.array([points.min(axis=0), points.max(axis=0)]))]
    has_area = len(points) >= 3 and kind not in ("points", "line", "linestrip")
    return [points] if has_area else []


def _read_coco(path: Path, document: dict[str, Any], locate: Locate) -> Iterator[Label]:
    folder = (document.get("info") or {}).get("folder")  # as this program writes it
    where = path.parent / folder if isinstance(folder, str) else None
    # some programs write the ids of one list as numbers and those of another as texts
    names = {str(entry["id"]): str(entry["name"]) for entry in document["categories"]}
    images = {str(entry["id"]): entry for entry in document["images"]}
    for entry in document["annotations"]:
        image = images[str(entry["image_id"])]
        located = locate(image["file_name"], image.get("width"), image.get("height"), where)
        name = names[str(entry["category_id"])]
        yield located.label(name, "annotation", _outline_annotation(path, entry))


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
    corners = list_corners(np.array([box[:2], box[:2] + box[2:]]))
    attributes = entry.get("attributes")  # of CVAT, with the degrees clockwise
    degrees = attributes.get("rotation") or 0 if isinstance(attributes, dict) else 0
    turned = shapely.affinity.rotate(shapely.Polygon(corners), float(degrees))
    return [shapely.get_coordinates(turned)[:-1]]


def _read_voc(path: Path, text: str, locate: Locate) -> Iterator[Label]:
    """Read a file of Pascal VOC, one picture each."""
    root = ElementTree.fromstring(text)
    about = {side: root.findtext(f"size/{side}") for side in ("width", "height")}
    about["filename"] = root.findtext("filename")
    for entry in root.iter("object"):
        box = {name: entry.findtext(f"bndbox/{name}") for name in BOX}
        yield _read_box({**about, **box, "class": entry.findtext("name")}, "object", locate)


def _read_table(path: Path, text: str, locate: Locate) -> Iterator[Label]:
    """Read a table with a line for each box."""
    for line in csv.DictReader(text.splitlines()):
        yield _read_box(line, "line", locate)


def _read_box(entry: Mapping[str, str | None], kind: str, locate: Locate) -> Label:
    """Read the box of a picture from texts by the names of the columns of tables."""
    values: dict[str, Any] = {name: text for name, text in entry.items() if text}
    sides = [float(values[side]) if side in values else None for side in ("width", "height")]
    box = np.reshape([float(values[name]) for name in BOX], (2, 2))
    return locate(values["filename"], *sides).label(values["class"], kind, [list_corners(box)])


def _read_yolo(path: Path, text: str, locate: Locate) -> Iterator[Label]:
    data, classes = _find_near(path, "data.yaml"), _find_near(path, "classes.txt")
    try:
        settings = (yaml.safe_load(_read(data)) if data else None) or {}
    except yaml.YAMLError as error:
        raise InputError(f"{data}: is not YAML ({one_line(error)})") from None
    where = data.parent / str(settings["path"]) if data is not None and "path" in settings else None
    names = (settings.get("names") or {}) if classes is None else _read(classes).splitlines()
    names = dict(enumerate(names)) if isinstance(names, list) else {int(k): v for k, v in names.items()}
    suffixes = (*(each for suffix in sorted(find_picture_suffixes()) for each in (suffix, suffix.upper())),)
    located = locate(path.stem, None, None, where, suffixes)
    for line in filter(None, map(str.split, text.splitlines())):
        polygon = _outline_line(line[1:], has_points="kpt_shape" in settings)
        name = names.get(int(line[0]), f"class {int(line[0])}")
        yield located.label(name, "line", [polygon * located.size])


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
    middle, size = corners
    return list_corners(np.array([middle - size / 2, middle + size / 2]))


def _find_near(path: Path, name: str) -> Path | None:
    """Find a file in the folder of the labels or in one of the two above."""
    folders = list(path.resolve().parents)[:3]
    return next((folder / name for folder in folders if is_file(folder / name)), None)


def _read(path: Path) -> str:
    return path.read_text("utf-8-sig")


def _locate(
    path: Path, others: Sequence[Path], name: str, width: float | None = None, height: float | None = None,
    where: Path | None = None, suffixes: Sequence[str] = ("",),
) -> Located:  # fmt: skip
    """Find the picture of a label file by its name, to which one of some suffixes may have to be added.

    It may be in the folder of the file or the one above, in their folders `images`, in another folder, or
    `where` the file says.
    """
    name = PurePosixPath(str(name).replace("\\", "/")).as_posix()
    here, inside = path.absolute().parent, Path()  # the command may run inside the folder labels
    others = [*others, *filter(None, [where])]
    folders = [here, here / "images"]
    labels = next((folder for folder in (here, *here.parents) if folder.name == "labels"), None)
    if labels is not None:  # as in YOLO's data sets: labels/train belongs to images/train
        inside = here.relative_to(labels)
        folders.append(labels.parent / "images" / inside)
    folders += [here.parent, here.parent / "images", *(other / inside for other in others), *others]
    names = name, PurePosixPath(name).name
    tried = (str(folder / (one + suffix)) for one in names for folder in folders for suffix in suffixes)
    if (picture := next(filter(is_file, tried), None)) is None:
        raise InputError(
            f"{path}: there is no picture {name} beside it, in images, in the folder above or its images, in"
            " the folder that the labels name, or in the folder to label"
        )
    return Located(picture, name, *_map_to_picture(path, picture, width, height))


def _map_to_picture(
    path: Path, picture: str, width: float | None, height: float | None
) -> tuple[Floats, Floats]:
    """Map (3, 3) from the pixels of a label file, which states their size, if any, to those of its picture.

    Many programs label the pixels as they are stored, before EXIF turns the picture upright. The size (2,) of
    the picture is returned, too.
    """
    image = read_labelled_picture(picture)
    shown, turn = np.array([image.width, image.height], np.float64), np.eye(3)
    if not width or not height:
        return shown, turn
    stated = np.array([width, height])
    stored = map_displayed_to_stored(image.orientation, image.width, image.height)
    if stored[0, 0] == 0 and (width > height) != (image.width > image.height):
        to_corner = np.array([[1, 0, 0.5], [0, 1, 0.5], [0, 0, 1]])
        turn = to_corner @ np.linalg.inv(stored) @ np.linalg.inv(to_corner)
    scale = (shown if turn[0, 0] else shown[::-1]) / stated
    if abs(scale[0] / scale[1] - 1) > 1 / min(*shown, *stated):  # sides are rounded to whole pixels
        size = f"{image.width} x {image.height}"
        raise InputError(f"{path}: labels a picture of {width} x {height}, but {picture} has {size}")
    return shown, turn @ np.diag([*scale, 1.0])


READERS = {".json": _read_json, ".txt": _read_yolo, ".xml": _read_voc, ".csv": _read_table}
