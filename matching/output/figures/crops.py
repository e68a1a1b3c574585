"""Each object cut out of both pictures."""

import io
from collections.abc import Iterator, Sequence

import numpy as np
from PIL import Image

from matching._common.types import Bytes, Floats
from matching.objects.description import MatchedObject
from matching.output.figures.drawing import find_part
from matching.pictures.images import Picture

MARGIN = 0.05  # share of an object's size: space around the outline through the outermost matches


def crop_files(pictures: Sequence[Picture], objects: Sequence[MatchedObject]) -> Iterator[tuple[str, bytes]]:
    """Cut each object out of both pictures."""
    for found in objects:
        for k, (picture, outline) in enumerate(zip(pictures, (found.outline0, found.outline1), strict=True)):
            buffer = io.BytesIO()
            Image.fromarray(cut_out(picture, outline)).save(buffer, "PNG")
            yield f"object{found.id}-crop{k}.png", buffer.getvalue()


def cut_out(picture: Picture, outline: Floats) -> Bytes:
    """Cut out the upright rectangle around an outline (k, 2) and a margin, within the picture."""
    _, part = find_part(outline, (picture.width, picture.height), MARGIN, 1)
    if picture.transparent is None:
        return picture.rgb[part]
    alpha = np.where(picture.transparent[part], 0, 255).astype(np.uint8)
    return np.dstack([picture.rgb[part], alpha])
