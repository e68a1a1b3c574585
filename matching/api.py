"""The functions for programs: each takes what people have, and returns a result that can be drawn.

What one of them alone needs is imported in it: all of it would take as long as a small match.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from matching._common.arrays import find_box
from matching._common.types import Bytes, Floats
from matching.drivers.inputs import MatchInputs, digest_pixels
from matching.drivers.pair import list_steps, match_pair
from matching.drivers.result import Result
from matching.errors import InputError
from matching.grouping.config import MatchConfig, check_config
from matching.pictures.decoding import read_content
from matching.pictures.images import Picture, add_mask, make_picture
from matching.searches.clock import Clock
from matching.searches.source import ImageSource


class MatchResult(Result):
    """What two pictures have in common; it can be drawn, explained and saved.

    It has the fields of `matching.drivers.result.Result`.
    """

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
        boxes = [find_box(polygon) for polygon in self.polygons(frame=frame)]
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


def match(
    image0: Any,
    image1: Any,
    config: MatchConfig = MatchConfig(),
    *,
    mask0: Any = None,
    mask1: Any = None,
    progress: Callable[[str, int, int], object] | None = None,
    **settings: Any,
) -> MatchResult:
    """Find the objects that two pictures both show.

    Parameters
    ----------
    image0, image1 : path, bytes, binary file, Pillow image, or array (h, w), (h, w, 3) RGB or (h, w, 4) RGBA
        The pictures; bytes are the content of a file.
    config : MatchConfig
        The settings.
    mask0, mask1 : like `image0` and `image1`, of the same sizes, optional
        White where features may lie; by default, they may lie everywhere.
    progress : callable, optional
        Called as ``progress(step, n_done, n_steps)`` after each step.
    **settings : object
        Settings that differ from `config`, see `MatchConfig.with_settings`: ``max_matches=5000``.

    Returns
    -------
    MatchResult
        The result is the same for any number of threads; swapped images give the same matches, swapped.

    Raises
    ------
    InputError
        A ValueError: a file or array can't be used, or a mask does not have the size of its image.
    TypeError
        `config` is not a MatchConfig, or a keyword is not the name of a setting.

    Examples
    --------
    >>> import numpy as np
    >>> match(np.zeros((60, 80)), np.zeros((60, 80)), max_matches=500)
    <MatchResult: no common object, 0 of 0 candidates>
    """
    check_config(config)
    config = config.with_settings(**settings)
    clock = Clock(progress, list_steps(config))
    images = read_content(image0, "image0"), read_content(image1, "image1")
    masks = read_content(mask0, "mask0"), read_content(mask1, "mask1")
    pictures = [
        add_mask(make_picture(image, f"image{k}"), mask, f"mask{k}")
        for k, (image, mask) in enumerate(zip(images, masks, strict=True))
    ]
    clock.lap("read")
    first, second = (ImageSource(picture, config) for picture in pictures)
    return hand_over(match_pair(first, second, clock=clock), images, pictures, masks)


def find_repeats(
    image: Any,
    config: MatchConfig = MatchConfig(),
    *,
    mask: Any = None,
    progress: Callable[[str, int, int], object] | None = None,
    **settings: Any,
) -> MatchResult:
    """Find what a picture shows more than once.

    Each object joins two places, with xy0 in one and xy1 in the other. Each pair of places is joined once,
    and the place further left comes first (if both have the same x, the upper one). `things` says which
    places show the same thing: a thing shown three times has three places, joined by two or three objects. A
    fine periodic texture is a `periodic` thing with one object, which shifts it onto itself.

    Parameters
    ----------
    image : path, bytes, binary file, Pillow image, or array (h, w), (h, w, 3) RGB or (h, w, 4) RGBA
        The picture.
    config : MatchConfig
        The settings.
    mask : like `image`, of the same size, optional
        White where features may lie.
    progress : callable, optional
        Called as ``progress(step, n_done, n_steps)`` after each step.
    **settings
        Settings that differ from `config`, see `MatchConfig.with_settings`: ``mirrored=True``.

    Returns
    -------
    MatchResult
        Each candidate is a pair of features, listed once. `frame1` of an object is the box around its first
        place, mapped to the second one.

    Raises
    ------
    InputError
        A ValueError: the file or array can't be used, the mask has another size, or `view_synthesis` is on.
    TypeError
        `config` is not a MatchConfig, or a keyword is not the name of a setting.
    """
    from matching.drivers.one_picture import STEPS, find_repeats_in_picture

    check_config(config)
    config = config.with_settings(**settings)
    if config.view_synthesis:
        raise InputError("view_synthesis must be False for one picture: it simulates the views of two")
    clock = Clock(progress, STEPS)
    image, mask = read_content(image, "image"), read_content(mask, "mask")
    picture = add_mask(make_picture(image), mask, "mask")
    clock.lap("read")
    result = find_repeats_in_picture(picture, config, clock=clock)
    return hand_over(result, (image, image), [picture] * 2, (mask, mask))


def group_matches(
    xy0: ArrayLike,
    xy1: ArrayLike,
    *,
    frames0: ArrayLike | None = None,
    frames1: ArrayLike | None = None,
    sizes: ArrayLike | None = None,
    score: ArrayLike | None = None,
    score_is_similarity: bool = False,
    image0: Any = None,
    image1: Any = None,
    mirrored: bool | Literal["auto"] = "auto",
    planes: bool = False,
    config: MatchConfig = MatchConfig(),
) -> MatchResult:
    """Group the matches of another program into the objects that both pictures show.

    Parameters
    ----------
    xy0, xy1 : (n, 2) array_like
        The points of each match in picture 0 and 1, in any unit, with any origin and axes. A keypoint may
        belong to several matches.
    frames0, frames1 : (n, 2, 2) array_like, optional
        Size, direction and shape of the keypoints of each match; give both or neither. A frame maps the
        normalised coordinates of a keypoint to the picture, so F1 F0^-1 maps the surroundings of the match
        from picture 0 to picture 1. The frame of a keypoint of size s without direction is [[s, 0], [0, s]].
    sizes : ((h0, w0), (h1, w1)), optional
        Sizes of the pictures, in the unit of the points; whole numbers are taken as pixels, with (0, 0) as
        the centre of the first pixel. If most points of a picture lie outside it, objects have no frames and
        no shares of the pictures.
    score : (n,) array_like, optional
        The score of each match, in any unit: a descriptor distance, or a confidence. Of many matches, the
        best are clustered first; objects are searched for around the best; and a match with a score of which
        few are in objects must lie closer to one, and counts less in its transform. If several matches join
        the same two places, the frames of the best match are used.
    score_is_similarity : bool
        Whether larger scores are better, as for confidences. By default, smaller ones are, as in
        `MatchResult`, which holds 1 - score otherwise.
    image0, image1 : path, bytes, binary file, Pillow image, or array, optional
        The pictures, as `match` takes them; give both or neither. Then the points are pixels of these
        pictures as displayed, and what lies between the matches of each object decides, as in `match`,
        whether it is one: a group is rejected if nothing there agrees, and `is_same`, `differences` and
        `is_doubtful` tell of the others. Pictures of different kinds, such as a photograph and a map, do not
        agree between true matches; leave them out.
    mirrored : bool or "auto"
        Which maps are tried around each match. True: only those that mirror, as when y points up in only one
        picture. False: only those that do not. "auto": both, for all matches together and for each one. The
        `motion` of an object says whether it is mirrored.
    planes : bool
        Whether to split each object into planes; matches that are on none of them become outliers.
    config : MatchConfig
        The settings, of which only `graph`, `clustering`, `merging`, `smooth_map`, `suppression`, `objects`,
        `max_matches` and `duplicate_radius` are used. By default, an object needs 8 matches instead of 12.
        `max_matches` caps how many matches are clustered at once; the others can still join an object. The
        map around each match is found from a random sample of as many matches. Lengths are in
        working pixels; see `matching.drivers.given`.

    Returns
    -------
    MatchResult
        One row per match, in the order given.

    Raises
    ------
    InputError
        A ValueError: an array has the wrong shape or holds numbers that are not finite, `mirrored` has
        another value, or a picture can't be used, is given alone, does not have the size in `sizes`, or does
        not contain most of its points.
    """
    from matching.drivers.given import GivenMatches, find_objects_among, fit_to_pictures, read_pictures
    from matching.drivers.points.checks import check_given

    check_config(config)
    if not (isinstance(mirrored, bool | np.bool) or mirrored == "auto"):
        raise InputError(f'mirrored must be True, False or "auto", got {mirrored!r}')
    images = read_content(image0, "image0"), read_content(image1, "image1")
    given = GivenMatches(*check_given(xy0, xy1, frames0, frames1, sizes, score, score_is_similarity))
    pictures = read_pictures(images)
    if pictures is not None:
        given = fit_to_pictures(given, pictures)
    result = find_objects_among(given, pictures, config, mirrored, planes=planes)
    return hand_over(result, images, pictures)


def hand_over(
    result: Result,
    images: tuple[Any, Any],
    pictures: Sequence[Picture] | None,
    masks: tuple[Any, Any] = (None, None),
) -> MatchResult:
    """Make what a user gets of a result and its inputs, without reading what is deferred."""
    inputs = None
    if pictures is not None:
        size0, size1 = ((picture.width, picture.height) for picture in pictures)
        content0, content1 = map(digest_pixels, pictures)
        inputs = MatchInputs(images, masks, (size0, size1), (content0, content1))
    handle = object.__new__(MatchResult)
    handle.__dict__.update(vars(result), inputs=inputs)
    return handle
