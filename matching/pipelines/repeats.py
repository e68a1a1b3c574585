"""What one picture shows more than once: its features are matched with each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from matching._common import opencv
from matching._common.threads import default_threads, single_blas_thread
from matching._common.types import Array, Bools, Floats, Ints
from matching.config import MatchConfig, check_config
from matching.correspondences.candidates import Candidates, join_candidates, match_within
from matching.correspondences.correspondences import Correspondences
from matching.correspondences.points import is_within_reach
from matching.errors import InputError
from matching.features.detectors import measure_by_kind
from matching.features.extraction import DESCRIBED, FeatureConfig, Features
from matching.grouping import Groups, group
from matching.grouping.objects import is_object
from matching.grouping.rejections import IN_OBJECT, name_stages
from matching.grouping.repeats import direct_both_ways, find_overlap, fold, tell_dropped
from matching.objects.cohesion import find_coherent_parts
from matching.objects.description import MatchedObject, add_things
from matching.objects.frames import fit_frame, polygon_area
from matching.objects.things import Thing
from matching.pictures.decoding import read_content
from matching.pictures.images import Picture, add_mask, make_picture, make_working_image
from matching.pipelines.clock import Clock
from matching.pipelines.description import DescribedPicture, describe_picture
from matching.pipelines.details import locate
from matching.pipelines.pair import describe_objects
from matching.pipelines.units import Unit, find_unit
from matching.result import MatchResult, add_inputs
from matching.stages import Stage, Stages

ROW_SCORE = (
    0.45  # of a row of copies, at least: things that are alike but no copies agree with fewer neighbours
)


def find_repeats(
    image: Any,
    config: MatchConfig = MatchConfig(),
    *,
    mask: Any = None,
    progress: Callable[[str, int, int], object] | None = None,
    **settings: Any,
) -> MatchResult:
    """Find what a picture shows more than once.

    Each object joins two places, xy0 in one and xy1 in the other; each two places are joined once, and the
    place further left comes first (of two at the same x, the upper one). `things` says which places show the
    same thing: a thing shown three times has three places, joined by two or three objects. A fine periodic
    texture is a thing that is `periodic`, with one object, which shifts it onto itself.

    Parameters
    ----------
    image : path, bytes, binary file, Pillow image, or array (h, w), (h, w, 3) RGB or (h, w, 4) RGBA
        The picture.
    config : MatchConfig
        All settings.
    mask : as an image, of the image's size, optional
        White where features may lie.
    progress : callable, optional
        Called as ``progress(stage, n_done, n_stages)`` when each stage has ended.
    **settings
        Settings that differ from `config`, see `MatchConfig.with_settings`: ``mirrored=True``.

    Returns
    -------
    MatchResult
        Each candidate is a pair of features, listed once. `frame1` of an object is the box around its first
        place, as it lies in the second one.

    Raises
    ------
    InputError
        A ValueError: the file or array can't be used, the mask has another size, or `view_synthesis` is on.
    TypeError
        `config` is no MatchConfig, or there is no setting of such a name.
    """
    check_config(config)
    config = config.with_settings(**settings)
    if config.view_synthesis:
        raise InputError("view_synthesis must be off for one picture: it simulates the views of two")
    clock = Clock(progress, NAMES)
    image, mask = read_content(image, "image"), read_content(mask, "mask")
    picture = add_mask(make_picture(image), mask, "mask")
    clock.lap("read")
    result = find_repeats_in_picture(picture, config, clock=clock)
    return add_inputs(result, (image, image), (mask, mask), [picture] * 2)


@dataclass(frozen=True, eq=False)
class _Piece:
    """Matches between two places, from the one further left; a texture is shifted onto itself."""

    candidates: Candidates
    score: float
    log_nfa: float
    periodic: bool

    def __len__(self) -> int:
        return len(self.candidates)

    @property
    def correspondences(self) -> Correspondences:
        """Their geometry."""
        return Correspondences(self.candidates.xy0, self.candidates.xy1, self.candidates.maps)

    @property
    def groups(self) -> Groups:
        """All are of one object."""
        return Groups(np.zeros(len(self), np.int64), np.array([self.score]), np.array([self.log_nfa]))

    def holds(self, xy0: Floats, xy1: Floats, reach: float) -> bool:
        """Whether half of the matches (n, 2) between two places, or more, lie so near to its own."""
        ends = np.concatenate([self.candidates.xy0, self.candidates.xy1])
        return bool(
            2 * (is_within_reach(xy0, ends, reach) & is_within_reach(xy1, ends, reach)).sum() >= len(xy0)
        )

    def choose(self, rows: Ints) -> _Piece:
        """A part of it."""
        return replace(self, candidates=self.candidates[rows])


@single_blas_thread()
def find_repeats_in_picture(
    picture: Picture, config: MatchConfig = MatchConfig(), *, clock: Clock | None = None
) -> MatchResult:
    """Find repeats in a picture already read."""
    clock, state = clock or Clock(), RepeatsState()
    described = describe_picture(picture, config, default_threads())
    clock.lap("features")
    features = described.features
    clearance = feature_clearance(features, config.features, config.objects.reach)
    context = RepeatsContext(picture, described, clearance, config)
    for stage in STAGES:
        state = stage.run(state, context)
        clock.lap(stage.name)
    found = state.located
    return MatchResult(
        found.xy0, found.xy1, found.labels, found.score, state.objects, clock.seconds, config=config,
        things=state.things, n_features=(len(features),) * 2, matched_at=(described.megapixels,) * 2,
        of_one=True, rejected=found.rejected, dropped_by=name_stages(found.stages),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class RepeatsContext:
    """What the stages of one picture read.

    Parameters
    ----------
    picture : Picture
        The picture.
    described : DescribedPicture
        Its features.
    clearance : (n,) float64
        How far they are from where a match of theirs may be.
    config : MatchConfig
        The settings.
    """

    picture: Picture
    described: DescribedPicture
    clearance: Floats
    config: MatchConfig

    @property
    def features(self) -> Features:
        """Those of the picture."""
        return self.described.features


@dataclass(frozen=True, eq=False)
class RepeatsState:
    """What is known of one picture, as far as its stages have come.

    Parameters
    ----------
    candidates : Candidates
        The best, and the next best by rising score, each of them once; from `places` on, those of objects
        first.
    n_listed : int
        How many the result lists.
    groups : Groups
        Of the candidates directed either way, (2 n,); from `places` on of the candidates.
    pieces : list of _Piece
        The matches that join two places.
    located : Located
        The same in pixels of the picture, from `listing` on.
    objects, things : tuple
        The objects, described, and which show the same.
    """

    candidates: Any = None
    n_listed: int = 0
    groups: Any = None
    pieces: tuple[_Piece, ...] = ()
    located: Any = None
    objects: tuple[MatchedObject, ...] = ()
    things: tuple[Thing, ...] = ()


def match_within_picture(state: RepeatsState, context: RepeatsContext) -> RepeatsState:
    """The candidates."""
    config = context.config
    parts = [
        match_within(context.features, context.clearance, config.candidates, default_threads(), mirrored)
        for mirrored in ((False, True) if config.mirrored else (False,))
    ]
    best, reserve = (join_candidates(part) for part in zip(*parts, strict=True))
    reserve = reserve[np.argsort(reserve.score, kind="stable")]
    return replace(state, candidates=join_candidates([best, reserve]), n_listed=len(best))


def group_both_ways(state: RepeatsState, context: RepeatsContext) -> RepeatsState:
    """The groups of the candidates, directed either way, and the matches that each joins two places by."""
    candidates, n, config = state.candidates, len(state.candidates), context.config
    correspondences = direct_both_ways(candidates.xy0, candidates.xy1, candidates.maps)
    # grouping needs the best first: those of both directions before the reserve of both
    first, last = np.split(np.arange(n), [state.n_listed])
    order = np.concatenate([first, first + n, last, last + n])
    groups = _group(correspondences[order], 2 * state.n_listed, config, default_threads()).at(order)
    pieces = []
    for item in fold(correspondences, groups, config.objects):
        own = _turn(candidates[item.members % n], item.members >= n)
        is_row = find_overlap(own.xy0, own.xy1, config.objects.min_matches)
        pieces.append(_Piece(own, item.score, item.log_nfa, is_row and item.score < ROW_SCORE))
    return replace(state, groups=groups, pieces=tuple(sorted(pieces, key=len, reverse=True)))


def find_places(state: RepeatsState, context: RepeatsContext) -> RepeatsState:
    """The matches of each unit with each of its places, and the other candidates."""
    pieces = _cut_pieces(context.picture, state.pieces, context.config)
    found = _find_units(context.features, context.clearance, pieces, context.config)
    return _number(found, state, context.config)


def list_candidates(state: RepeatsState, context: RepeatsContext) -> RepeatsState:
    """The candidates that the result lists, in pixels of the picture."""
    step = context.described.step
    return replace(state, located=locate(state.candidates, state.groups, step, step, most=state.n_listed))


def describe_repeats(state: RepeatsState, context: RepeatsContext) -> RepeatsState:
    """The objects, each with the frame of its first place, and the things with their places."""
    described, found = context.described, state.located
    tolerance = context.config.graph.scale * float(described.step.max())
    objects = [
        _add_frame(one, found.xy0[found.labels == one.id], found.xy1[found.labels == one.id])
        for one in describe_objects(found.xy0, found.xy1, found, tolerance, (described.box, described.box))
    ]
    things = tuple(_add_places(thing, objects) for thing in state.things)
    return replace(state, objects=add_things(objects, things), things=things)


STAGES: Stages = (
    Stage("candidates", match_within_picture),
    Stage("grouping", group_both_ways),
    Stage("places", find_places),
    Stage("listing", list_candidates),
    Stage("objects", describe_repeats),
)
NAMES = ("read", "features", *(stage.name for stage in STAGES))


def feature_clearance(features: Features, config: FeatureConfig, least: float) -> Floats:
    """Tell how far features are from where a match of theirs may be.

    Returns (n,) float64.
    """
    window = measure_by_kind(config, "window")[features.kind]
    clearance: Floats = np.maximum(
        np.sqrt(np.abs(np.linalg.det(features.frames))) * window * DESCRIBED, least
    )
    return clearance


def _group(correspondences: Correspondences, n_listed: int, config: MatchConfig, n_threads: int) -> Groups:
    """Group correspondences within one picture."""
    return group(correspondences, n_listed, config, n_threads, config.way.of_one)


def _find_units(
    features: Features, clearance: Floats, pieces: Sequence[_Piece], config: MatchConfig
) -> list[Unit | _Piece]:
    """What stands there more than once: units with their places, and textures."""
    found: list[Unit | _Piece] = []
    for piece in pieces:
        xy0, xy1 = piece.candidates.xy0, piece.candidates.xy1
        reach = config.objects.reach
        if any(other.holds(xy0, xy1, reach) for other in found):
            continue
        if any(isinstance(other, Unit) and other.leads(xy0, xy1, reach) for other in found):
            continue
        unit = None if piece.periodic else find_unit(features, clearance, xy0, xy1, config, _group)
        if unit is None:
            found.append(replace(piece, periodic=True))
        else:
            found.append(unit if len(unit.groups.scores) else piece)
    return found


def _cut_pieces(picture: Picture, pieces: Sequence[_Piece], config: MatchConfig) -> list[_Piece]:
    """The coherent parts of the pieces, the largest first; textures as they are."""
    image = make_working_image(picture, config.first_pixels)
    rgb = opencv.resize_area(picture.rgb, *image.grey.shape[::-1])
    reach, least = config.objects.reach, config.objects.min_matches
    cut = []
    for piece in pieces:
        if piece.periodic:
            cut.append(piece)
            continue
        number = find_coherent_parts(rgb, piece.candidates.xy0, piece.candidates.xy1, reach, least)
        parts = [piece.choose(np.flatnonzero(number == k)) for k in range(number.max(initial=-1) + 1)]
        cut += [
            part for part in parts if is_object(part.correspondences, np.arange(len(part)), config.objects)
        ]
    return sorted(cut, key=len, reverse=True)


def _number(found: list[Unit | _Piece], state: RepeatsState, config: MatchConfig) -> RepeatsState:
    """The candidates of objects, and all others, with their groups, and the things without their places.

    Things are numbered by the score of their best object; the objects of one, by where their places lie.
    """
    rows, scores, log_nfa, things = list[Candidates](), list[float](), list[float](), list[Thing]()
    taken: set[tuple[int, int]] = set()
    for item in sorted(found, key=lambda item: -max(item.groups.scores)):
        n_before = len(rows)
        for own, k in _list_objects(item):
            ends = _name_ends(own)
            free = np.array([pair not in taken for pair in ends])
            if free.sum() >= config.objects.min_matches:
                rows.append(own[free])
                scores.append(float(item.groups.scores[k]))
                log_nfa.append(np.nan if item.groups.log_nfa is None else float(item.groups.log_nfa[k]))
                taken.update(ends)
        if len(rows) > n_before:
            ids = tuple(range(n_before, len(rows)))
            things.append(Thing(len(things), ids, (), isinstance(item, _Piece) and item.periodic))
    of_object = np.array([pair in taken for pair in _name_ends(state.candidates)], bool)
    rejected, stages = tell_dropped(state.groups, np.where(of_object, 0, -1))
    others, n_before = np.flatnonzero(~of_object), sum(map(len, rows))
    labels = np.repeat([*range(len(rows)), -1], [*map(len, rows), len(others)])
    stages = np.concatenate([np.full(n_before, IN_OBJECT, np.int8), stages[others]])
    place = np.where(of_object, -1, n_before + np.cumsum(~of_object) - 1)
    moved = (replace(item, members=place[item.members][place[item.members] >= 0]) for item in rejected)
    return replace(
        state,
        candidates=join_candidates([*rows, state.candidates[others]]),
        groups=Groups(labels, np.array(scores), np.array(log_nfa), tuple(moved), stages),
        things=tuple(things),
    )


def _list_objects(item: Unit | _Piece) -> list[tuple[Candidates, int]]:
    """The matches of each object and its number among the groups, by where its place lies."""
    own = [(item.candidates[item.groups.labels == k], k) for k in range(len(item.groups.scores))]
    return sorted(own, key=lambda part: tuple(part[0].xy1.mean(axis=0)))


def _name_ends(candidates: Candidates) -> list[tuple[int, int]]:
    """The two features of each candidate, whichever comes first."""
    ends = np.sort(np.column_stack([candidates.row0, candidates.row1]), axis=1)
    return [(i, j) for i, j in ends.tolist()]


def _add_places(thing: Thing, objects: Sequence[MatchedObject]) -> Thing:
    """A thing with its places: that which all its objects lead from, and one for each."""
    own = [objects[k] for k in thing.objects]
    first = max((found.outline0 for found in own), key=polygon_area)
    return replace(thing, places=(first, *(found.outline1 for found in own)))


def _turn(candidates: Candidates, turn: Bools) -> Candidates:
    """The candidates, those chosen the other way."""
    ends: dict[str, Array] = {}
    for name in ("xy", "frames", "row"):
        a, b = getattr(candidates, f"{name}0"), getattr(candidates, f"{name}1")
        chosen = turn.reshape(-1, *[1] * (a.ndim - 1))
        ends |= {f"{name}0": np.where(chosen, b, a), f"{name}1": np.where(chosen, a, b)}
    return replace(candidates, **ends)


def _add_frame(found: MatchedObject, xy0: Floats, xy1: Floats) -> MatchedObject:
    """An object whose frame is that of its first place."""
    box = np.array([found.outline0.min(axis=0), found.outline0.max(axis=0)])
    return replace(found, frame1=fit_frame(xy0, xy1, box, found.transform))
