"""The inputs of a match, kept so that its pictures can be read again."""

import hashlib
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from matching.errors import InputError
from matching.pictures.images import Picture, add_mask, make_picture


@dataclass(frozen=True, eq=False)
class MatchInputs:
    """The inputs of a match, from which the pictures can be read again; their pixels are not copied."""

    images: tuple[Any, Any]  # files, their contents, Pillow images, arrays or Pictures
    masks: tuple[Any, Any]
    sizes: tuple[tuple[int, int], tuple[int, int]]  # width and height of each picture
    contents: tuple[str, str]  # `digest_pixels` of each picture and its mask

    def pictures(self) -> list[Picture]:
        """Read both pictures again."""
        pictures = []
        inputs = zip(self.images, self.masks, self.sizes, self.contents, strict=True)
        for k, (image, mask, size, content) in enumerate(inputs):
            picture = make_picture(image, f"image{k}")
            name = image if isinstance(image, (str, PathLike)) else f"image{k}"
            if (picture.width, picture.height) != size:
                now = f"{picture.width} x {picture.height}"
                raise InputError(f"{name}: is now {now}, but was {size[0]} x {size[1]} when it was matched")
            picture = add_mask(picture, mask, f"mask{k}")
            if digest_pixels(picture) != content:
                raise InputError(f"{name}: the picture or its mask has changed since it was matched")
            pictures.append(picture)
        return pictures


def digest_pixels(picture: Picture) -> str:
    """Compute the SHA-256 digest of the pixels of a picture and of its mask."""
    digest = hashlib.sha256()
    for pixels in (picture.rgb, picture.mask):
        if pixels is not None:
            digest.update(repr(pixels.shape).encode())
            digest.update(np.ascontiguousarray(pixels).data)
    return digest.hexdigest()
