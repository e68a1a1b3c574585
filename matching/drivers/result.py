"""The result of a match: what two pictures have in common. It can be drawn, explained and saved."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from matching._common.once import amend, deferred
from matching._common.types import Array, Bytes, Floats, Ints
from matching.drivers.inputs import MatchInputs, digest_pixels
from matching.errors import InputError
from matching.grouping.config import MatchConfig
from matching.grouping.ledger import RejectedGroup
from matching.objects.confidence import WORDS
from matching.objects.deformation import Deformation, fit_deformation
from matching.objects.description import MatchedObject
from matching.objects.things import Thing
from matching.pictures.images import Picture


@dataclass(frozen=True, eq=False, repr=False)
class MatchResult:
    """What two pictures have in common; it can be drawn and saved.

    Parameters
    ----------
    xy0, xy1 : (m, 2) float64
        The points of each candidate correspondence, one row each, in pixels of the original pictures as
        displayed, x to the right, y down, with (0, 0) the centre of the top-left pixel. These are the best
        `max_matches` candidates, except that further candidates that joined an object replace the worst
        outliers.
    cluster : (m,) int64
        The object of each candidate, numbered by descending score; -1 for an outlier.
    score : (m,) float64
        The descriptor distance of each candidate; smaller is better.
    objects : tuple of MatchedObject
        The objects, one for each cluster. Where they end is measured when they are first read.
    timings : dict
        The seconds that each step took, as far as it was needed.
    config : MatchConfig, optional
        The settings; None if unknown.
    inputs : MatchInputs, optional
        The inputs that were matched; None if unknown.
    things : tuple of Thing
        The things that the objects show; `thing` of an object is the number of its thing.
    n_features : tuple of int, optional
        Number of features of each picture; None if unknown.
    matched_at : tuple of float, optional
        Megapixels of each picture at the largest size at which it was matched; None if unknown.
    is_single_picture : bool
        Whether one picture was matched with itself.
    rejected : tuple of RejectedGroup
        Rejected groups of matches, the largest first, each with the step that rejected it and the bound.
    dropped_by : (m,) str, optional
        The step that dropped each candidate, a key of `matching.grouping.reasons.REASONS`, or "" for one
        in an object; None if unknown.
    negative : bool
        Whether one picture shows the objects in negative: dark where the other picture is bright.
    only : pair of tuple of (k, 2) float64
        `only0` and `only1`: what only picture 0 or 1 shows, of two versions of a page; computed when read.
    """

    xy0: Floats
    xy1: Floats
    cluster: Ints
    score: Floats
    objects: deferred[tuple[MatchedObject, ...]] = deferred()  # noqa: RUF009
    timings: dict[str, float] = field(default_factory=dict)
    config: MatchConfig | None = None
    inputs: MatchInputs | None = None
    things: deferred[tuple[Thing, ...]] = deferred(())  # noqa: RUF009
    n_features: tuple[int, int] | None = None
    matched_at: tuple[float, float] | None = None
    is_single_picture: bool = False
    rejected: tuple[RejectedGroup, ...] = ()
    dropped_by: Array | None = None
    negative: bool = False
    only: deferred[tuple[tuple[Floats, ...], tuple[Floats, ...]]] = deferred(((), ()))  # noqa: RUF009

    @property
    def only0(self) -> tuple[Floats, ...]:
        """Polygons (k, 2) around what is gone: only picture 0 shows it, of two versions of a page."""
        return self.only[0]

    @property
    def only1(self) -> tuple[Floats, ...]:
        """Polygons (k, 2) around what is new: only picture 1 shows it, of two versions of a page."""
        return self.only[1]

    def __len__(self) -> int:
        """The number of objects, so that a result without objects is false."""
        return len(self.objects)

    @property
    def confidence(self) -> str | None:
        """The confidence of the surest object: "sure", "likely" or "look at it".

        None if there are no objects, or if confidences are unknown, as with the paper's grouping.
        """
        words = (found.confidence for found in self.objects)
        return min((word for word in words if word is not None), key=WORDS.index, default=None)

    def draw(self, *, explain: bool = False, differences: bool = True) -> Bytes:
        """Draw both pictures side by side, each object in a different colour.

        Parameters
        ----------
        explain : bool
            Whether to also outline the largest groups of matches that were rejected, with the reasons.
        differences : bool
            Whether to also outline where objects differ, in black and white dashes.

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
        return draw_result(picture0, picture1, self, explain=explain, differences=differences)

    def explain(self) -> str:
        """Explain which matches are in no object, and why.

        Returns
        -------
        str
            The groups of matches that were rejected, the largest first: the number of matches, their centre
            in both pictures, the step that rejected the group, and the measured value beside its bound. Then
            the number of candidates that each step dropped, and why.
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
        from matching.output.html.pair import show_result

        try:
            drawn = self.draw()
        except InputError:  # without the pictures, only the table is shown
            drawn = None
        return show_result(self, drawn)

    def _inputs(self) -> MatchInputs:
        """Return the inputs; raise InputError if they are unknown."""
        if self.inputs is None:
            raise InputError(
                "the result has no pictures to draw on; give them to group_matches as image0 and image1, or"
                " to gdl-match group FILE as --image0 and --image1"
            )
        return self.inputs

    def __repr__(self) -> str:
        from matching.output.words import describe_sameness

        kept = int((self.cluster >= 0).sum())
        n = len(self.objects)
        found = f"{n} object{'' if n == 1 else 's'}" if n else "no common object"
        found += describe_sameness(self.objects)
        confidence = "" if self.confidence is None else f", {self.confidence}"
        return f"<MatchResult: {found}{confidence}, {kept} of {len(self.cluster)} candidates>"


def object_deformation(result: MatchResult, object_id: int, smoothing: float | None = None) -> Deformation:
    """Fit the deformation of one object of a result.

    Parameters
    ----------
    result : MatchResult
        The matches and objects of a pair.
    object_id : int
        Number of the object.
    smoothing : float, optional
        A length in pixels, see SmoothMap. By default, it is chosen for each direction: the longest one that
        predicts held-out matches nearly as well as the best.

    Returns
    -------
    Deformation
        The maps in both directions.

    Raises
    ------
    InputError
        A ValueError: there is no such object, or the length is not positive.
    """
    found = [item for item in result.objects if item.id == object_id]
    if not result.objects:
        raise InputError(f"the result has no objects, so there is no object_id {object_id!r}")
    if not found:
        raise InputError(f"object_id must be below {len(result.objects)}, got {object_id!r}")
    if smoothing is not None and not smoothing > 0:
        raise InputError(f"smoothing must be above 0 px, got {smoothing}")
    rows = result.cluster == object_id
    return fit_deformation(result.xy0[rows], result.xy1[rows], found[0].transform, smoothing)


def add_inputs(
    result: MatchResult, images: tuple[Any, Any], masks: tuple[Any, Any], pictures: Sequence[Picture]
) -> MatchResult:
    """Add the inputs to a result."""
    size0, size1 = ((picture.width, picture.height) for picture in pictures)
    content0, content1 = map(digest_pixels, pictures)
    return amend(result, inputs=MatchInputs(images, masks, (size0, size1), (content0, content1)))
