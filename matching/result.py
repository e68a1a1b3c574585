"""What is found in a pair of pictures: the matches, the objects, and ways to look at them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

from matching._types import Bytes, Floats, Ints
from matching.config import MatchConfig
from matching.errors import InputError
from matching.objects.confidence import WORDS
from matching.objects.description import MatchedObject
from matching.objects.things import Thing
from matching.pictures.images import Picture, add_mask, make_picture


@dataclass(frozen=True, eq=False)
class Inputs:
    """The inputs of a match, from which the pictures can be read again: no pixels are copied.

    Parameters
    ----------
    images, masks : tuple
        Two each: files, Pillow images, arrays or Pictures; a mask may be None.
    sizes : tuple
        Width and height of both pictures.
    """

    images: tuple[Any, Any]
    masks: tuple[Any, Any]
    sizes: tuple[tuple[int, int], tuple[int, int]]

    def pictures(self) -> list[Picture]:
        """Read both pictures again.

        Returns
        -------
        list of Picture
            The two pictures with their masks.

        Raises
        ------
        InputError
            A file is gone, or shows a picture of another size by now.
        """
        pictures = []
        for k, (image, mask, size) in enumerate(zip(self.images, self.masks, self.sizes, strict=True)):
            picture = make_picture(image, f"image{k}")
            if (picture.width, picture.height) != size:
                now = f"{picture.width} x {picture.height}"
                raise InputError(f"{image}: is {now} now, and was {size[0]} x {size[1]} when it was matched")
            pictures.append(add_mask(picture, mask, f"mask{k}"))
        return pictures


@dataclass(frozen=True, eq=False, repr=False)
class MatchResult:
    """What two pictures have in common.

    Parameters
    ----------
    xy0, xy1 : (m, 2) float64
        One row for every candidate correspondence, pixels of the original pictures as displayed, x to the
        right, y down, (0, 0) the centre of the top-left pixel. Listed are the best `max_matches` candidates;
        further ones that joined an object take the places of the worst outliers.
    cluster : (m,) int64
        The object of each candidate, numbered by falling score; -1 for an outlier.
    score : (m,) float64
        Descriptor distance, smaller is better.
    objects : tuple of MatchedObject
        One for each cluster.
    timings : dict
        Seconds of each stage.
    config : MatchConfig, optional
        The settings; None if they are not known.
    inputs : Inputs, optional
        What was matched, for `draw` and `save`; None if it is not known.
    things : tuple of Thing
        One for each number that objects have as their `thing`.
    """

    xy0: Floats
    xy1: Floats
    cluster: Ints
    score: Floats
    objects: tuple[MatchedObject, ...]
    timings: dict[str, float] = field(default_factory=dict)
    config: MatchConfig | None = None
    inputs: Inputs | None = None
    things: tuple[Thing, ...] = ()

    @property
    def confidence(self) -> str | None:
        """How sure the surest object is: "sure", "likely" or "look at it"; None without objects."""
        return min((found.confidence for found in self.objects), key=WORDS.index, default=None)

    def draw(self) -> Bytes:
        """Draw both pictures side by side, each object in its own colour.

        Returns
        -------
        (h, w, 3) uint8
            The drawing.

        Raises
        ------
        InputError
            The result doesn't know its pictures, or they can't be read any more.
        """
        from matching.output.drawing import draw_matches

        picture0, picture1 = self._inputs().pictures()
        return draw_matches(picture0, picture1, self)

    def save(self, folder: str | PathLike[str], **options: Any) -> Path:
        """Write matches.npz, matches.json and matches.png into a folder, all of them or none.

        Parameters
        ----------
        folder : str or path
            The folder, made if missing.
        **options : object
            As of `matching.output.files.write_results`: ``figure=False``, ``html=True``, ``warp=True``,
            ``crops=True``, ``exports=("csv",)``.

        Returns
        -------
        Path
            The folder.

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


def add_inputs(
    result: MatchResult, images: tuple[Any, Any], masks: tuple[Any, Any], pictures: Sequence[Picture]
) -> MatchResult:
    """Add to a result what it was made of.

    Parameters
    ----------
    result : MatchResult
        Without inputs.
    images, masks : tuple
        Two each, as `match` takes them.
    pictures : sequence of Picture
        The same two pictures, read.

    Returns
    -------
    MatchResult
        With inputs.
    """
    size0, size1 = ((picture.width, picture.height) for picture in pictures)
    return replace(result, inputs=Inputs(images, masks, (size0, size1)))
