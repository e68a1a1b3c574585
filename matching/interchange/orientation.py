"""Conversion of matches from image files as stored to images as displayed."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from matching.errors import InputError
from matching.interchange.records import PairMatches
from matching.objects.transforms import apply_transform
from matching.pictures.decoding import map_displayed_to_stored
from matching.pictures.images import Picture


def turn_to_displayed(pair: PairMatches, pictures: Sequence[Picture]) -> PairMatches:
    """Turn matches to the pixels of two pictures to which their EXIF orientation has been applied."""
    changes: dict[str, Any] = {}
    for k, picture in enumerate(pictures):
        turn = np.eye(3)
        if pair.as_stored:
            turn = np.linalg.inv(map_displayed_to_stored(picture.orientation, picture.width, picture.height))
        if pair.sizes is not None:
            _check_size(pair.sizes[k], picture, is_turned=turn[0, 0] == 0)
        xy, frames = (pair.xy0, pair.frames0) if k == 0 else (pair.xy1, pair.frames1)
        changes[f"xy{k}"] = apply_transform(turn, xy) if len(xy) else xy
        changes[f"frames{k}"] = None if frames is None else turn[:2, :2] @ frames
    inside = (
        ((changes[f"xy{k}"] >= -1) & (changes[f"xy{k}"] <= [picture.width, picture.height])).all()
        for k, picture in enumerate(pictures)
    )
    if pair.sizes is not None or all(inside):  # otherwise, they may have been matched at another size
        changes["sizes"] = tuple((picture.height, picture.width) for picture in pictures)
    return replace(pair, **changes, as_stored=False)


def _check_size(size: tuple[int, int], picture: Picture, is_turned: bool) -> None:
    height, width = size[::-1] if is_turned else size
    if (height, width) != (picture.height, picture.width):
        raise InputError(
            f"{picture.path}: is {picture.width} x {picture.height} pixels, but the matches are of an image"
            f" of {width} x {height}"
        )
