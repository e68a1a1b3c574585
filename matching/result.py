"""The result of a match: what two pictures have in common, and ways to look at it."""

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from matching._common.types import Bytes, Floats
from matching.errors import InputError
from matching.matches import Inputs, Matches, digest_pixels
from matching.pictures.images import Picture


class MatchResult(Matches):
    """What two pictures have in common; it can be drawn and saved.

    It has the same parameters as `matching.matches.Matches`.
    """

    def draw(self, *, explain: bool = False) -> Bytes:
        """Draw both pictures side by side, each object in a different colour.

        Parameters
        ----------
        explain : bool
            Whether to also outline the largest groups of matches that were rejected, with the reasons.

        Returns
        -------
        (h, w, 3) uint8
            The drawing.

        Raises
        ------
        InputError
            The result doesn't know its pictures, or they can no longer be read, or they have changed.
        """
        from matching.output.figures.drawing import draw_result

        picture0, picture1 = self._inputs().pictures()
        return draw_result(picture0, picture1, self, explain=explain)

    def explain(self) -> str:
        """Explain which matches are in no object, and why.

        Returns
        -------
        str
            The groups of matches that were rejected, the largest first: the number of matches, their centre
            in both pictures, the stage that rejected the group, and the measured value beside its bound. Then
            the number of candidates that each stage dropped, and why.
        """
        from matching.output.words import explain_rejected

        return "\n".join(explain_rejected(self))

    def save(self, folder: str | PathLike[str], **options: Any) -> Path:
        """Write matches.npz, matches.json and matches.png into a folder, all of them or none.

        Parameters
        ----------
        folder : str or path
            The folder, created if missing.
        **options : object
            As for `matching.output.files.write_results`: ``figure=False``, ``html=True``, ``warp=True``,
            ``crops=True``, ``explain=True``, ``exports=("csv",)``.

        Returns
        -------
        Path
            The folder.

        Raises
        ------
        InputError
            The folder can't be written, a file that this program did not write is in the way, or the pictures
            are not known, can no longer be read or have changed.
        """
        from matching.output.files import write_results

        pictures = self._inputs().pictures()
        write_results(Path(folder), pictures, self, **options)
        return Path(folder)

    def polygons(self, *, frame: bool = False) -> list[Floats]:
        """Outline each object in picture 1.

        Parameters
        ----------
        frame : bool
            Whether the polygon of an object that covers at least a quarter of picture 0 is the frame of that
            picture (or of what its mask shows), cut off at the edges of picture 1. Use it if picture 0 shows
            a single thing.

        Returns
        -------
        list of (k, 2) float64
            One polygon for each object, pixels; (0, 0) is the centre of the top-left pixel.
        """
        from matching.output.places import outline_place

        size = None if self.inputs is None else self.inputs.sizes[1]
        return [outline_place(found, size, frame=frame) for found in self.objects]

    def boxes(self, *, frame: bool = False) -> Floats:
        """Put an upright box around each object in picture 1.

        Parameters
        ----------
        frame : bool
            As for `polygons`.

        Returns
        -------
        (n, 4) float64
            Smallest x and y and largest x and y of each object, pixels.
        """
        boxes = [np.concatenate([p.min(axis=0), p.max(axis=0)]) for p in self.polygons(frame=frame)]
        return np.array(boxes).reshape(-1, 4)

    def to_dataframe(self) -> Any:
        """Put the objects in a table, one row each.

        Returns
        -------
        pandas.DataFrame
            The numbers, scores, false alarms (log10) and confidences of the objects, and their boxes in
            picture 1.

        Raises
        ------
        InputError
            pandas is not installed.
        """
        from matching.output.places import list_columns

        try:
            import pandas
        except ImportError:
            raise InputError("to_dataframe needs pandas: pip install pandas") from None
        return pandas.DataFrame(list_columns(self.objects, self.boxes()))

    def _repr_html_(self) -> str:
        """The result in a notebook: a small drawing, a table, and a foldable list of rejected groups."""
        from matching.output.html.notebook import show_result

        try:
            drawn = self.draw()
        except InputError:  # without the pictures, only the table is shown
            drawn = None
        return show_result(self, drawn)

    def _inputs(self) -> Inputs:
        if self.inputs is None:
            raise InputError(
                "the result has no pictures to draw on; gdl-match group FILE draws and saves the groups of "
                "given matches, on the pictures of --image0 and --image1"
            )
        return self.inputs

    def __repr__(self) -> str:
        kept = int((self.cluster >= 0).sum())
        n = len(self.objects)
        found = f"{n} object{'' if n == 1 else 's'}" if n else "no common object"
        told = "" if self.confidence is None else f", {self.confidence}"
        return f"<MatchResult: {found}{told}, {kept} of {len(self.cluster)} candidates>"


def add_inputs(
    result: MatchResult, images: tuple[Any, Any], masks: tuple[Any, Any], pictures: Sequence[Picture]
) -> MatchResult:
    """Add the inputs to a result."""
    size0, size1 = ((picture.width, picture.height) for picture in pictures)
    content0, content1 = map(digest_pixels, pictures)
    return replace(result, inputs=Inputs(images, masks, (size0, size1), (content0, content1)))
