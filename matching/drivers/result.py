"""The result of a match: what two pictures have in common."""

from dataclasses import dataclass, field
from typing import Any

from matching._common.once import Later, deferred
from matching._common.types import Array, Floats, Ints
from matching.drivers.inputs import MatchInputs
from matching.errors import InputError
from matching.grouping.config import MatchConfig
from matching.grouping.ledger import RejectedGroup, name_steps
from matching.objects.confidence import WORDS
from matching.objects.deformation import Deformation, fit_deformation
from matching.objects.description import MatchedObject
from matching.objects.things import Thing
from matching.searches.clock import Clock
from matching.searches.proposals import LabelledMatches


@dataclass(frozen=True, eq=False, repr=False)
class Result:
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


def make_result(
    matches: LabelledMatches,
    objects: tuple[MatchedObject, ...] | Later[tuple[MatchedObject, ...]],
    clock: Clock,
    config: MatchConfig,
    **known: Any,
) -> Result:
    """Make a result of the matches of a search, its objects, and what else is known of it."""
    return Result(
        matches.xy0,
        matches.xy1,
        matches.labels,
        matches.distance,
        objects,
        clock.seconds,
        config,
        dropped_by=name_steps(matches.dropped_by),
        **known,
    )


def object_deformation(result: Result, object_id: int, smoothing: float | None = None) -> Deformation:
    """Fit the deformation of one object of a result.

    Parameters
    ----------
    result : Result
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
