"""What is found in a pair of pictures: the matches, the objects, and ways to look at them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from matching.config import MatchConfig
from matching.errors import InputError
from matching.objects.confidence import WORDS
from matching.objects.description import MatchedObject
from matching.objects.things import Thing
from matching.pictures.images import Picture, picture_of, with_mask


@dataclass(frozen=True, eq=False)
class Inputs:
    """What was matched, to be looked at again: nothing is copied, and files are not held in memory.

    Attributes
    ----------
    images, masks : two each
        Files, Pillow images, arrays or Pictures; a mask may be None.
    sizes : two (width, height)
    """

    images: tuple[Any, Any]
    masks: tuple[Any, Any]
    sizes: tuple[tuple[int, int], tuple[int, int]]

    def pictures(self) -> list[Picture]:
        """Both Pictures, read again where they are files.

        Raises InputError where a file is gone or shows a picture of another size by now.
        """
        pictures = []
        for k, (image, mask, size) in enumerate(zip(self.images, self.masks, self.sizes, strict=True)):
            picture = picture_of(image, f"image{k}")
            if (picture.width, picture.height) != size:
                now = f"{picture.width} x {picture.height}"
                raise InputError(f"{image}: is {now} now, and was {size[0]} x {size[1]} when it was matched")
            pictures.append(with_mask(picture, mask, f"mask{k}"))
        return pictures


@dataclass(frozen=True, eq=False, repr=False)
class MatchResult:
    """What two pictures have in common.

    Attributes
    ----------
    xy0, xy1 : (m, 2) float64
        One row for every candidate correspondence, pixels of the original pictures as displayed, x to the
        right, y down, (0, 0) the centre of the top-left pixel; the best max_matches, and behind them, for as
        many of the worst outliers, those from beyond that joined an object.
    cluster : (m,) int64
        The object of each, numbered by falling connectivity score; -1 where removed as an outlier.
    score : (m,) float64
        Descriptor distance, smaller is better.
    objects : tuple of MatchedObject
        One for each cluster.
    timings : dict
        Seconds of each stage.
    config : MatchConfig or None
        The settings; None where they are not known.
    inputs : Inputs or None
        What was matched, for `draw` and `save`; None where it is not known.
    things : tuple of Thing
        One for each number that objects have as their `thing`.
    """

    xy0: np.ndarray
    xy1: np.ndarray
    cluster: np.ndarray
    score: np.ndarray
    objects: tuple[MatchedObject, ...]
    timings: dict[str, float] = field(default_factory=dict)
    config: MatchConfig | None = None
    inputs: Inputs | None = None
    things: tuple[Thing, ...] = ()

    @property
    def confidence(self) -> str | None:
        """How sure the surest object is: "sure", "likely" or "look at it"; None where there is none."""
        return min((found.confidence for found in self.objects), key=WORDS.index, default=None)

    def draw(self) -> np.ndarray:
        """(h, w, 3) uint8: both pictures side by side, each object in its own colour.

        Raises InputError where the result doesn't know its pictures, or they can't be read any more.
        """
        from matching.output.drawing import draw_matches

        return draw_matches(*self._inputs().pictures(), self)

    def save(self, folder: str | PathLike, **options: bool) -> Path:
        """Write the result into a folder, made if missing, and return its path: matches.npz, matches.json and
        matches.png, all of them or none.

        Parameters
        ----------
        folder : path
        **options
            As of `matching.output.files.write_results`: ``figure=False``, ``html=True``, ``warp=True``,
            ``crops=True``, ``exports=("csv",)``.

        Raises
        ------
        InputError
            The folder can't be written, a file is in the way that no run of this program wrote, or the
            pictures are not known or can't be read any more.
        """
        from matching.output.files import write_results

        pictures = self._inputs().pictures()
        write_results(Path(folder), pictures, self, self.config, **options)
        return Path(folder)

    def _inputs(self) -> Inputs:
        if self.inputs is None:
            raise InputError("the result doesn't know its pictures: give them to matching.output.drawing")
        return self.inputs

    def __repr__(self) -> str:
        kept = int((self.cluster >= 0).sum())
        n = len(self.objects)
        found = f"{n} object{'' if n == 1 else 's'}" if n else "no common object"
        told = f", {self.confidence}" if n else ""
        return f"<MatchResult: {found}{told}, {kept} of {len(self.cluster)} candidates>"


def with_inputs(result: MatchResult, images: tuple, masks: tuple, pictures: list[Picture]) -> MatchResult:
    """The result, which knows what it was made of."""
    sizes = tuple((picture.width, picture.height) for picture in pictures)
    return replace(result, inputs=Inputs(images, masks, sizes))
