"""The result for a pair of pictures: the matches, the objects and the inputs."""

import hashlib
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np

from matching._common.types import Array, Floats, Ints
from matching.config import MatchConfig
from matching.errors import InputError
from matching.grouping.rejections import Rejection
from matching.objects.confidence import WORDS
from matching.objects.deformation import Deformation, fit_deformation
from matching.objects.description import MatchedObject
from matching.objects.things import Thing
from matching.pictures.images import Picture, add_mask, make_picture


@dataclass(frozen=True, eq=False)
class Inputs:
    """The inputs of a match, from which the pictures can be read again; their pixels are not copied."""

    images: tuple[Any, Any]  # files, their contents, Pillow images, arrays or Pictures
    masks: tuple[Any, Any]
    sizes: tuple[tuple[int, int], tuple[int, int]]  # width and height of each picture
    contents: tuple[str, str]  # `digest_pixels` of each picture and its mask

    def pictures(self) -> list[Picture]:
        """Read both pictures again."""
        pictures = []
        asked = zip(self.images, self.masks, self.sizes, self.contents, strict=True)
        for k, (image, mask, size, content) in enumerate(asked):
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
    """Compute a digest of what a picture shows and of its mask."""
    digest = hashlib.sha256()
    for pixels in (picture.rgb, picture.mask):
        if pixels is not None:
            digest.update(repr(pixels.shape).encode())
            digest.update(np.ascontiguousarray(pixels).data)
    return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class Matches:
    """What two pictures have in common.

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
        The objects, one for each cluster.
    timings : dict
        The seconds that each stage took.
    config : MatchConfig, optional
        The settings; None if unknown.
    inputs : Inputs, optional
        The inputs that were matched; None if unknown.
    things : tuple of Thing
        The things that the objects show; `thing` of an object is the number of its thing.
    n_features : tuple of int, optional
        Number of features of each picture; None if unknown.
    matched_at : tuple of float, optional
        Megapixels of each picture at the largest size at which it was matched; None if unknown.
    of_one : bool
        Whether one picture was matched with itself.
    rejected : tuple of Rejection
        Rejected groups of matches, the largest first, each with the stage that rejected it and the bound.
    dropped_by : (m,) str, optional
        The stage that dropped each candidate, a key of `matching.grouping.rejections.REASONS`, or "" for one
        in an object; None if unknown.
    negative : bool
        Whether one picture shows the objects in negative: dark where the other picture is bright.
    looks_mirrored : bool
        Whether one picture has more in common with the mirror image of the other, although no mirrored
        objects were searched for (`mirrored`).
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
    n_features: tuple[int, int] | None = None
    matched_at: tuple[float, float] | None = None
    of_one: bool = False
    rejected: tuple[Rejection, ...] = ()
    dropped_by: Array | None = None
    negative: bool = False
    looks_mirrored: bool = False

    @property
    def confidence(self) -> str | None:
        """The confidence of the surest object: "sure", "likely" or "look at it".

        None if there are no objects, or if confidences are unknown, as with the paper's grouping.
        """
        words = (found.confidence for found in self.objects)
        return min((word for word in words if word is not None), key=WORDS.index, default=None)


def object_deformation(result: Matches, object_id: int, smoothing: float | None = None) -> Deformation:
    """Fit the deformation of one object of a result.

    Parameters
    ----------
    result : Matches
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
    found = [thing for thing in result.objects if thing.id == object_id]
    if not result.objects:
        raise InputError(f"the result has no objects, so there is no object_id {object_id!r}")
    if not found:
        raise InputError(f"object_id must be below {len(result.objects)}, got {object_id!r}")
    if smoothing is not None and not smoothing > 0:
        raise InputError(f"smoothing must be above 0 px, got {smoothing}")
    own = result.cluster == object_id
    return fit_deformation(result.xy0[own], result.xy1[own], found[0].transform, smoothing)
