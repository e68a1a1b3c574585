"""Labels in the formats of other programs: COCO, YOLO, LabelMe, Pascal VOC, and CSV.

Coordinates are pixels of the pictures as displayed, measured from the corner of the top-left pixel; those of
Pascal VOC are whole numbers and begin with 1. Pictures in which nothing was found are listed without labels.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import yaml
from jinja2 import Template

from matching._common.types import Floats
from matching._version import __version__
from matching.errors import InputError
from matching.labels.places import Place
from matching.labels.record import LabelledPicture
from matching.objects.frames import polygon_area
from matching.output.csv_text import encode_csv
from matching.output.files import encode_zip
from matching.output.json_text import json_text

LABELME_VERSION = "5.5.0"  # whose format is written
COLUMNS = (  # of the table
    *("picture", "class", "left", "top", "right", "bottom", "score", "how sure", "track", "polygon", "same"),
)
CONTROL = re.compile(r"[\0-\x1f\x7f-\x9f]")  # characters that XML or YAML can't hold
FORMULA = re.compile(r"^[=+@-]")  # the first characters that let spreadsheets evaluate a cell
SAME_WORDS = {True: "yes", False: "no", None: ""}
Files = Iterator[tuple[str, bytes]]
Pictures = Sequence[LabelledPicture]


def write_coco(pictures: Pictures, classes: Sequence[str], folder: str, out: str) -> Files:
    """Write labels as COCO does: annotations.json, whose `info` also names the folder of the pictures."""
    annotations: list[dict[str, object]] = []
    for number, picture in enumerate(pictures, 1):
        for place in picture.places:
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
                "same": place.same,
            }
            annotations.append(annotation | ({} if place.track is None else {"track_id": place.track}))
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
    yield "annotations.json", json_text(document).encode()


def write_yolo(pictures: Pictures, classes: Sequence[str], folder: str, out: str) -> Files:
    """Write boxes as YOLO does: a file for each picture in the folder labels, and data.yaml."""
    for picture in pictures:
        size = np.array([picture.width, picture.height])
        lines = []
        for place in picture.places:
            low, high = np.array(_box(place)).reshape(2, 2) / size
            sizes = " ".join(f"{value:.6f}" for value in (*(low + high) / 2, *(high - low)))
            lines.append(f"{classes.index(place.name)} {sizes}\n")
        yield f"labels/{_stem(picture.name)}.txt", "".join(lines).encode()
    settings = {
        "path": folder,
        "train": ".",
        "val": ".",
        "nc": len(classes),
        "names": [CONTROL.sub("?", name) for name in classes],
    }
    yield "data.yaml", yaml.safe_dump(settings, allow_unicode=True, sort_keys=False).encode()


def write_labelme(pictures: Pictures, classes: Sequence[str], folder: str, out: str) -> Files:
    """Write polygons as LabelMe does: a file for each picture."""
    for picture in pictures:
        shapes = [
            {
                "label": place.name,
                "points": _corners(place).tolist(),
                "group_id": place.track,
                "description": "",
                "shape_type": "polygon",
                "flags": {},
                "mask": None,
                "score": place.score,
                "same": place.same,
            }
            for place in picture.places
        ]
        name = f"{_stem(picture.name)}.json"
        start = os.path.dirname(os.path.join(os.sep, out, name))  # noqa: PTH118, PTH120
        path = os.path.relpath(os.path.join(os.sep, folder, picture.name), start)  # noqa: PTH118
        document: dict[str, object] = {
            "version": LABELME_VERSION,
            "flags": {},
            "shapes": shapes,
            "imagePath": path.replace(os.path.sep, "/"),
        }
        document |= {"imageData": None, "imageHeight": picture.height, "imageWidth": picture.width}
        yield name, json_text(document).encode()


def write_voc(pictures: Pictures, classes: Sequence[str], folder: str, out: str) -> Files:
    """Write boxes as Pascal VOC does: a file for each picture in the folder Annotations."""
    template = Template(files(__package__).joinpath("voc.xml").read_text(), autoescape=True, trim_blocks=True)
    for picture in pictures:
        values = {"picture": picture, "places": [_describe_voc(place, picture) for place in picture.places]}
        text = template.render(values, folder=Path(folder).name, clean=partial(CONTROL.sub, "?")) + "\n"
        yield f"Annotations/{_stem(picture.name)}.xml", text.encode("utf-8", "backslashreplace")


def write_csv(pictures: Pictures, *_: object) -> Files:
    """Write a table, labels.csv: a row for each label, and one for each picture without labels."""
    rows: list[Sequence[Any]] = [COLUMNS]
    for picture in pictures:
        for place in picture.places:
            names = (FORMULA.sub(r"'\g<0>", name) for name in (picture.name, place.name))
            polygon = json.dumps(_corners(place).tolist())
            facts = (place.score, place.confidence, place.track, polygon, SAME_WORDS[place.same])
            rows.append((*names, *_box(place), *facts))
        if not picture.places:
            rows.append((FORMULA.sub(r"'\g<0>", picture.name), *[""] * (len(COLUMNS) - 1)))
    yield "labels.csv", encode_csv(rows)


@dataclass(frozen=True)
class LabelFormat:
    """A format of labels."""

    title: str
    # called with the pictures, the classes, and the absolute folders of pictures and labels, it
    # yields names and contents of files
    write: Callable[[Pictures, Sequence[str], str, str], Files]
    result_file: str  # name of the file with the labels of a single result
    is_one_file: bool = False  # whether one file holds the labels of all pictures

    def encode(self, pictures: Pictures, classes: Sequence[str]) -> bytes:
        """Encode labels in one file, which is an archive if the format has several files."""
        files = dict(self.write(pictures, classes, ".", "."))
        return encode_zip(files) if len(files) > 1 else next(iter(files.values()))


FORMATS = {  # the first one is the default
    "coco": LabelFormat("COCO", write_coco, "labels-coco.json", is_one_file=True),
    "yolo": LabelFormat("YOLO", write_yolo, "labels-yolo.zip"),
    "labelme": LabelFormat("LabelMe", write_labelme, "labels-labelme.json"),
    "voc": LabelFormat("Pascal VOC", write_voc, "labels-voc.xml"),
    "csv": LabelFormat("CSV", write_csv, "labels.csv", is_one_file=True),
}


def check_twins(names: Iterable[str]) -> None:
    """Raise InputError if the label files of two pictures would have the same name."""
    seen: dict[str, str] = {}
    for name in names:
        if (other := seen.setdefault(_stem(name), name)) != name:
            raise InputError(f"{other} and {name} would have the same label file; rename one of them")


def _stem(name: str) -> str:
    return str(PurePosixPath(name).with_suffix(""))


def _corners(place: Place) -> Floats:
    corners: Floats = np.round(np.array(place.polygon) + 0.5, 2)
    return corners


def _box(place: Place) -> tuple[float, ...]:
    return tuple(round(value + 0.5, 2) for value in place.box)


def _describe_voc(place: Place, picture: LabelledPicture) -> tuple[str | int, ...]:
    """The name of a place, whether it is cut off, and its box as in Pascal VOC, whose first pixel is 1."""
    left, top, right, bottom = place.box
    is_cut = left <= 0 or top <= 0 or right >= picture.width - 1 or bottom >= picture.height - 1
    sides = zip(place.box, (picture.width, picture.height) * 2, strict=True)
    return place.name, int(is_cut), *(min(max(round(side) + 1, 1), last) for side, last in sides)
