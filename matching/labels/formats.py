"""Labels in the formats of other programs: COCO, YOLO, LabelMe, Pascal VOC, and CSV.

Coordinates are pixels of the pictures as displayed, measured from the corner of the top-left pixel; those of
Pascal VOC are whole numbers and begin with 1. Pictures in which nothing was found are listed without labels.
"""

import csv
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from xml.etree import ElementTree

import numpy as np
import yaml

from matching._common.types import Floats
from matching._version import __version__
from matching.labels.places import Place
from matching.labels.record import LabelledPicture
from matching.objects.frames import polygon_area
from matching.output.json_text import json_text

LABELME_VERSION = "5.5.0"  # whose format is written
Files = Iterator[tuple[str, bytes]]
Pictures = Sequence[LabelledPicture]
Tracks = Sequence[Sequence[int | None]]  # of each place of each picture


def write_coco(pictures: Pictures, classes: Sequence[str], tracks: Tracks, folder: str, out: str) -> Files:
    """Write labels as COCO does: annotations.json, whose `info` also names the folder of the pictures."""
    annotations: list[dict[str, object]] = []
    for number, (picture, numbers) in enumerate(zip(pictures, tracks, strict=True), 1):
        for place, track in zip(picture.places, numbers, strict=True):
            left, top, right, bottom = _box(place)
            annotation = {
                "id": len(annotations) + 1,
                "image_id": number,
                "category_id": classes.index(place.name) + 1,
                "bbox": [left, top, round(right - left, 2), round(bottom - top, 2)],
                "area": round(polygon_area(_corners(place)), 2),
                "segmentation": [_corners(place).ravel().tolist()],
                "iscrowd": 0,
                "score": place.score,
            }
            annotations.append(annotation | ({} if track is None else {"track_id": track}))
    document = {
        "info": {"description": f"gdl-match {__version__}", "folder": folder},
        "licenses": [],
        "images": [
            {"id": number, "file_name": p.name, "width": p.width, "height": p.height}
            for number, p in enumerate(pictures, 1)
        ],
        "categories": [
            {"id": number, "name": name, "supercategory": ""} for number, name in enumerate(classes, 1)
        ],
        "annotations": annotations,
    }
    yield "annotations.json", _dump(document)


def write_yolo(pictures: Pictures, classes: Sequence[str], tracks: Tracks, folder: str, out: str) -> Files:
    """Write boxes as YOLO does: a file for each picture in the folder labels, and data.yaml."""
    for picture in pictures:
        size = np.array([picture.width, picture.height])
        lines = []
        for place in picture.places:
            low, high = np.array(_box(place)).reshape(2, 2) / size
            sizes = " ".join(f"{value:.6f}" for value in (*(low + high) / 2, *(high - low)))
            lines.append(f"{classes.index(place.name)} {sizes}\n")
        yield f"labels/{_stem(picture)}.txt", "".join(lines).encode()
    settings = {"path": folder, "train": ".", "val": ".", "nc": len(classes), "names": list(classes)}
    yield "data.yaml", yaml.safe_dump(settings, allow_unicode=True, sort_keys=False).encode()


def write_labelme(pictures: Pictures, classes: Sequence[str], tracks: Tracks, folder: str, out: str) -> Files:
    """Write polygons as LabelMe does: a file for each picture."""
    for picture, numbers in zip(pictures, tracks, strict=True):
        shapes = [
            {"label": place.name, "points": _corners(place).tolist(), "group_id": track, "description": ""}
            | {"shape_type": "polygon", "flags": {}, "mask": None, "score": place.score}
            for place, track in zip(picture.places, numbers, strict=True)
        ]
        name = f"{_stem(picture)}.json"
        start = os.path.dirname(os.path.join(os.sep, out, name))  # noqa: PTH118, PTH120
        path = os.path.relpath(os.path.join(os.sep, folder, picture.name), start)  # noqa: PTH118
        document: dict[str, object] = {
            "version": LABELME_VERSION,
            "flags": {},
            "shapes": shapes,
            "imagePath": path.replace(os.path.sep, "/"),
        }
        document |= {"imageData": None, "imageHeight": picture.height, "imageWidth": picture.width}
        yield name, _dump(document)


def write_voc(pictures: Pictures, classes: Sequence[str], tracks: Tracks, folder: str, out: str) -> Files:
    """Write boxes as Pascal VOC does: a file for each picture in the folder Annotations."""
    for picture in pictures:
        root = ElementTree.Element("annotation")
        _add(root, "folder", Path(folder).name)
        _add(root, "filename", picture.name)
        size = ElementTree.SubElement(root, "size")
        for name, value in (("width", picture.width), ("height", picture.height), ("depth", 3)):
            _add(size, name, value)
        _add(root, "segmented", 0)
        for place in picture.places:
            thing = ElementTree.SubElement(root, "object")
            _add(thing, "name", place.name)
            _add(thing, "pose", "Unspecified")
            _add(thing, "truncated", int(_touches_edge(place, picture)))
            _add(thing, "difficult", 0)
            box = ElementTree.SubElement(thing, "bndbox")
            bounds = (picture.width, picture.height) * 2
            for name, side, last in zip(("xmin", "ymin", "xmax", "ymax"), place.box, bounds, strict=True):
                _add(box, name, min(max(round(side) + 1, 1), last))  # the first pixel has number 1
        ElementTree.indent(root)
        text = ElementTree.tostring(root, "unicode") + "\n"
        yield f"Annotations/{_stem(picture)}.xml", text.encode("utf-8", "backslashreplace")


def write_csv(pictures: Pictures, classes: Sequence[str], tracks: Tracks, folder: str, out: str) -> Files:
    """Write a table, labels.csv: a row for each label, and one for each picture without labels."""
    buffer = io.StringIO()
    table = csv.writer(buffer, lineterminator="\n")
    table.writerow(
        ("picture", "class", "left", "top", "right", "bottom", "score", "how sure", "track", "polygon")
    )
    for picture, numbers in zip(pictures, tracks, strict=True):
        for place, track in zip(picture.places, numbers, strict=True):
            row = (picture.name, place.name, *_box(place), place.score, place.confidence, track)
            table.writerow((*row, json.dumps(_corners(place).tolist())))
        if not picture.places:
            table.writerow((picture.name, *[""] * 9))
    yield "labels.csv", buffer.getvalue().encode("utf-8", "backslashreplace")


@dataclass(frozen=True)
class LabelFormat:
    """A format of labels."""

    title: str
    # called with the pictures, the classes, the tracks, and the absolute folders of pictures and labels, it
    # yields names and contents of files
    write: Callable[[Pictures, Sequence[str], Tracks, str, str], Files]
    result_file: str  # name of the file with the labels of a single result
    is_one_file: bool = False  # whether one file holds the labels of all pictures


FORMATS = {  # the first one is the default
    "coco": LabelFormat("COCO", write_coco, "labels-coco.json", is_one_file=True),
    "yolo": LabelFormat("YOLO", write_yolo, "labels-yolo.zip"),
    "labelme": LabelFormat("LabelMe", write_labelme, "labels-labelme.json"),
    "voc": LabelFormat("Pascal VOC", write_voc, "labels-voc.xml"),
    "csv": LabelFormat("CSV", write_csv, "labels.csv", is_one_file=True),
}


def find_twins(names: Iterable[str]) -> tuple[str, str] | None:
    """Find two pictures whose label files would have the same name."""
    seen: dict[str, str] = {}
    for name in names:
        stem = str(PurePosixPath(name).with_suffix(""))
        if stem in seen:
            return seen[stem], name
        seen[stem] = name
    return None


def _stem(picture: LabelledPicture) -> str:
    return str(PurePosixPath(picture.name).with_suffix(""))


def _corners(place: Place) -> Floats:
    corners: Floats = np.round(np.array(place.polygon) + 0.5, 2)
    return corners


def _box(place: Place) -> tuple[float, ...]:
    return tuple(round(value + 0.5, 2) for value in place.box)


def _touches_edge(place: Place, picture: LabelledPicture) -> bool:
    left, top, right, bottom = place.box
    return left <= 0 or top <= 0 or right >= picture.width - 1 or bottom >= picture.height - 1


def _add(parent: ElementTree.Element, name: str, value: object) -> None:
    ElementTree.SubElement(parent, name).text = str(value)


def _dump(document: object) -> bytes:
    return json_text(document).encode()
