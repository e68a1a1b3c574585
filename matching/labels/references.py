"""References: whole pictures, parts that masks show, or parts that existing labels outline.

Label files measure pixels from the corner of the top-left pixel, but this program measures from its centre.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from matching._common import opencv
from matching._common.types import Floats
from matching.errors import InputError
from matching.labels.label_files import READERS, Label, read_label_file, read_labelled_picture
from matching.pictures.formats import find_pictures
from matching.pictures.images import Picture, add_mask
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
        The picture, or a file of LabelMe that holds it.
    polygon : tuple of (float, float), optional
        Its outline in the picture, pixels; (0, 0) is the centre of the top-left pixel. By default, the thing
        is the whole picture, or what the mask shows.
    mask : str, optional
        A picture of the same size, white where the thing is.
    parts : tuple of polygons
        What is visible of a thing that consists of several parts, which the outline encloses.
    """

    name: str
    path: str
    polygon: Polygon | None = None
    mask: str | None = None
    parts: tuple[Polygon, ...] = ()

    def read(self) -> Picture:
        """Read the picture, masked to the thing."""
        picture = add_mask(read_labelled_picture(self.path), self.mask)
        if self.polygon is None:
            return picture
        inside = opencv.fill_polygons(picture.rgb.shape[:2], map(np.array, self.parts or [self.polygon]))
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
        label files: COCO's or LabelMe's .json, YOLO's .txt, Pascal VOC's .xml, or a .csv with the columns
        filename, class, xmin, ymin, xmax and ymax.
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
        elif path.suffix.lower() in READERS:
            labels = read_label_file(path, [] if folder is None else [folder])
            found += map(_make_reference, labels)
        else:
            found.append(Reference(path.stem, str(path), None, str(unused.pop(0)) if unused else None))
            if masks and found[-1].mask is None:
                raise InputError(f"{path}: has no --mask: give a mask for each picture, or for none")
    if unused:
        raise InputError(f"--mask {unused[0]}: there are more masks than pictures")
    return tuple(found)


def _make_reference(label: Label) -> Reference:
    """Make a reference of a label; the outline of several parts is their convex hull."""
    if not all(np.isfinite(polygon).all() for polygon in label.polygons):
        raise InputError(f"{label.picture}: a coordinate of the label {label.name} is not a number")
    parts = label.polygons if len(label.polygons) > 1 else []
    outline = opencv.convex_hull(np.concatenate(parts)) if parts else label.polygons[0]
    return Reference(label.name, label.picture, _freeze(outline), None, tuple(map(_freeze, parts)))


def _freeze(polygon: Floats) -> Polygon:
    """Measure a polygon (k, 2) from the centre of the first pixel instead of its corner."""
    x, y = (polygon - 0.5).T.tolist()
    return tuple(zip(x, y, strict=True))
