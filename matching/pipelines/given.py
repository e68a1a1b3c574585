"""Matches from anywhere, grouped into objects by the same stages as this program's candidates.

Given points may have any unit, come from pictures of any size, and be few or many. So all lengths are derived
from the points. The stages, in order:

    stray       each picture gets a unit, the spread of its points; stray points leave       given_units.py
    maps        the map around each match, from its neighbours                               given_maps.py
    pixel       the working pixel, from the accuracy of the points of significant objects    given_maps.py
    grouping    the stages `GIVEN`, with a reach that fits the spacing of an object's matches
                                                                                   grouping/stages.py
    planes      on request, the planes of each object                                      given_planes.py
    objects     their description, in the units of the points
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from matching._common.threads import default_threads
from matching._common.types import Array, Bools, Floats
from matching.config import MatchConfig, check_config
from matching.correspondences.correspondences import Correspondences
from matching.errors import InputError
from matching.grouping import GIVEN, Groups, group
from matching.grouping.objects import FEW_MATCHES, need_fewer
from matching.grouping.rejections import all_of_stage, mark_dropped, name_stages
from matching.objects.description import MatchedObject, add_things
from matching.objects.things import Thing, find_things_of_pair
from matching.pipelines.clock import Clock
from matching.pipelines.given_input import Sizes, check_given
from matching.pipelines.given_maps import (
    choose_local_maps,
    measure_points,
    put_agreeing_first,
    sort_matches,
)
from matching.pipelines.given_planes import split_into_planes
from matching.pipelines.given_units import Unit, find_unit, hide_shares, take_back
from matching.pipelines.pair import describe_objects
from matching.result import MatchResult
from matching.settings import cut
from matching.stages import Stage, Stages, insert_before

# Working pixels from a match to its 8th neighbour, and number of matches, in this program's own candidates:
# the default settings assume them.
USUAL_SPACING = 28.0
USUAL_N_MATCHES = 3000
MAX_DESCRIBED = 3000  # matches from which an object is described: limits the work


def group_matches(
    xy0: ArrayLike,
    xy1: ArrayLike,
    *,
    frames0: ArrayLike | None = None,
    frames1: ArrayLike | None = None,
    sizes: ArrayLike | None = None,
    score: ArrayLike | None = None,
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
        The score of each match: smaller is better, as in `MatchResult`. If several matches join the same two
        places, the frames of the best match are used.
    mirrored : bool or "auto"
        Which maps are tried around each match. True: only those that mirror, as when y points up in only one
        picture. False: only those that do not. "auto": both, for all matches together and for each one. The
        `motion` of an object says whether it is mirrored.
    planes : bool
        Whether to split each object into planes; matches that are on none of them become outliers.
    config : MatchConfig
        The settings, of which only `graph`, `clustering`, `merging`, `smooth_map`, `suppression`, `objects`,
        `max_matches` and `duplicate_radius` are used. By default, an object needs 8 matches instead of 12.
        `max_matches` is the number of matches that are clustered at a time; all others may join objects. The
        map around each match is found from a random sample of the same number of matches. Lengths are in
        working pixels; see `matching.pipelines.given`.

    Returns
    -------
    MatchResult
        One row per match, in the order given.

    Raises
    ------
    InputError
        A ValueError: an array has the wrong shape or holds numbers that are not finite, or `mirrored` has
        another value.
    """
    check_config(config)
    if not (isinstance(mirrored, bool | np.bool) or mirrored == "auto"):
        raise InputError(f'mirrored must be True, False or "auto", got {mirrored!r}')
    x0, x1, maps, both_sizes, own_score = check_given(xy0, xy1, frames0, frames1, sizes, score)
    context = GivenContext(x0, x1, maps, own_score, both_sizes, config, mirrored)
    clock = Clock()
    state = run_stages(context, PLANES if planes else DEFAULT, clock)
    groups = state.groups
    return MatchResult(
        x0,
        x1,
        groups.labels,
        own_score,
        state.objects,
        clock.seconds,
        config=config,
        things=state.things,
        rejected=tuple(item.locate(x0, x1) for item in groups.rejected),
        dropped_by=name_stages(groups.told_stages),
    )


@dataclass(frozen=True, eq=False)
class GivenContext:
    """The n given matches, as `check_given` returns them, and how they are grouped."""

    xy0: Floats
    xy1: Floats
    maps: Array | None = None
    score: Floats | None = None
    sizes: Sizes = (None, None)
    config: MatchConfig = MatchConfig()
    mirrored: bool | Literal["auto"] = "auto"

    @cached_property
    def units(self) -> tuple[Unit, Unit]:
        """The units of both pictures."""
        return find_unit(self.xy0, self.sizes[0]), find_unit(self.xy1, self.sizes[1])


@dataclass(frozen=True, eq=False)
class GivenState:
    """The state of given matches; the stages fill its fields in turn."""

    groups: Groups  # of the given matches; none before the stage "grouping"
    near: Any = None  # (n,) bool: not stray in either picture
    matches: Any = None  # UniqueMatches: the matches that are near
    sample: Any = None  # (k,) rows of `matches` from which maps and accuracy are measured
    local: Any = None  # LocalMaps of the matches
    pixel: float = 1.0  # a working pixel, in spreads
    spacing: float = 1.0  # between the matches of an object, in spreads
    objects: tuple[MatchedObject, ...] = ()
    things: tuple[Thing, ...] = ()


def run_stages(context: GivenContext, stages: Stages, clock: Clock | None = None) -> GivenState:
    """Run the stages until one leaves nothing for the next."""
    clock, labels = clock or Clock(), np.full(len(context.xy0), -1, np.int64)
    none = Groups(labels, np.empty(0), np.empty(0), (), all_of_stage("candidates", labels))
    state = GivenState(none)
    for stage in stages:
        following = stage.run(state, context)
        clock.lap(stage.name)
        if following is None:
            break
        state = following
    return state


def leave_out_stray(state: GivenState, context: GivenContext) -> GivenState | None:
    """The matches, without those whose coordinates lie far from all others."""
    if not len(context.xy0):
        return None
    xy0, xy1, maps, (unit0, unit1) = context.xy0, context.xy1, context.maps, context.units
    near = unit0.near(xy0) & unit1.near(xy1)
    maps = None if maps is None else maps[near] * (unit0.spread / unit1.spread)
    places = unit0.round_to_single(xy0[near]), unit1.round_to_single(xy1[near])
    score = np.zeros(len(places[0])) if context.score is None else context.score[near]
    matches = sort_matches(*places, maps, score)
    return replace(_mark(state, "stray", ~near), near=near, matches=matches)


def find_local_maps(state: GivenState, context: GivenContext) -> GivenState | None:
    """The map around each match; None if there are fewer than FEW_MATCHES matches to look at."""
    n, config = len(state.matches.xy0), context.config
    sample = np.sort(np.random.default_rng(0).permutation(n)[: config.candidates.max_matches])
    if len(sample) < FEW_MATCHES:
        return None
    slope = config.graph.slope * config.graph.coarseness
    matches, local = choose_local_maps(state.matches, sample, slope, context.mirrored)
    state = replace(state, matches=matches, sample=sample, local=local)
    return _mark(state, "significance", state.near)


def find_pixel(state: GivenState, context: GivenContext) -> GivenState | None:
    """The working pixel, from the significant objects; None if there are none.

    If few matches are very accurate, it is larger: otherwise they would be too far apart to support each
    other, because the tolerance of the graph grows with the distance, and then an edge weighs less. Among
    many outliers, the stricter one is better.
    """
    graph, bound = context.config.graph, context.config.objects.max_log_nfa
    measured = measure_points(state.matches, state.local, state.sample, bound)
    if measured is None:
        return None
    pixel, spacing = measured
    if np.mean(state.local.agreeing) > 0.5:
        pixel = max(pixel, spacing * graph.slope / (graph.coarseness * graph.scale))
    return replace(state, pixel=pixel, spacing=spacing)


def group_with(stages: Stages) -> Callable[[GivenState, GivenContext], GivenState]:
    """The stage "grouping" with a list of stages."""

    def group_given(state: GivenState, context: GivenContext) -> GivenState:
        matches, local, pixel, sample = state.matches, state.local, state.pixel, state.sample
        correspondences = Correspondences(matches.xy0 / pixel, matches.xy1 / pixel, local.maps)
        order = put_agreeing_first(local, len(sample))
        adapted = _adapt(context.config, len(sample), state.spacing / pixel)
        found = group(correspondences[order], len(sample), adapted, default_threads(), stages)
        row, rows = np.argsort(order)[matches.row], np.flatnonzero(state.near)
        labels, dropped_by = state.groups.labels.copy(), state.groups.told_stages.copy()
        labels[rows], dropped_by[rows] = found.labels[row], found.told_stages[row]
        rejected = tuple(replace(item, members=rows[np.isin(row, item.members)]) for item in found.rejected)
        return replace(state, groups=replace(found, labels=labels, rejected=rejected, stages=dropped_by))

    return group_given


def split_objects(state: GivenState, context: GivenContext) -> GivenState:
    """The planes of each object."""
    return replace(state, groups=split_into_planes(*_to_local(context), state.groups))


def describe_given(state: GivenState, context: GivenContext) -> GivenState:
    """The objects, in the units of the points; shares of pictures are known only with valid sizes."""
    (xy0, xy1), sizes, units, groups = (context.xy0, context.xy1), context.sizes, context.units, state.groups
    if not all(
        size is not None and _lie_within(xy, size) for xy, size in zip((xy0, xy1), sizes, strict=True)
    ):
        sizes = None, None
    local = _to_local(context)
    boxes = _box(local[0], units[0], sizes[0]), _box(local[1], units[1], sizes[1])
    tolerance = context.config.graph.scale * (state.pixel * units[1].spread) / units[1].size
    described = []
    for k, found in enumerate(describe_objects(*local, _sample(*local, groups), tolerance, boxes)):
        own = groups.labels == k
        found = take_back(replace(found, n_matches=int(own.sum())), units, (xy0[own], xy1[own]))
        described.append(hide_shares(found) if sizes[0] is None else found)
    things = find_things_of_pair([o.outline0 for o in described], [o.outline1 for o in described])
    return replace(state, objects=add_things(described, things), things=things)


DEFAULT: Stages = (
    Stage("stray", leave_out_stray),
    Stage("maps", find_local_maps),
    Stage("pixel", find_pixel),
    Stage("grouping", group_with(GIVEN)),
    Stage("objects", describe_given),
)
PLANES = insert_before(DEFAULT, "objects", Stage("planes", split_objects))


def _mark(state: GivenState, stage: str, rows: Bools) -> GivenState:
    """The state after a stage has dropped matches (n,), unless a later stage drops them as well."""
    stages = mark_dropped(state.groups.told_stages, stage, rows)
    return replace(state, groups=replace(state.groups, stages=stages))


def _to_local(context: GivenContext) -> tuple[Floats, Floats]:
    """The points (n, 2) relative to their middle, in the units of `given_units`."""
    return context.units[0].to_local(context.xy0), context.units[1].to_local(context.xy1)


def _sample(xy0: Floats, xy1: Floats, groups: Groups) -> Groups:
    """The groups with at most MAX_DESCRIBED matches each, for speed; independent of the order of the rows."""
    labels = groups.labels.copy()
    for k in range(len(groups.scores)):
        own = np.flatnonzero(labels == k)
        if len(own) > MAX_DESCRIBED:
            own = own[np.lexsort(np.hstack([xy0[own], xy1[own]]).T)]
            labels[own] = -1
            labels[np.random.default_rng(0).permutation(own)[:MAX_DESCRIBED]] = k
    return replace(groups, labels=labels)


def _lie_within(xy: Floats, size: Array) -> bool:
    least, greatest = _corners(size)
    return bool(((xy >= least) & (xy <= greatest)).all(axis=1).mean() > 0.5)


def _corners(size: Array) -> Floats:
    """(2, 2) first and last corner of a picture (h, w); whole pixels count from the centre of the first."""
    half = 0.5 if (size == np.rint(size)).all() else 0.0
    return np.array([[0.0, 0.0], size[::-1]]) - half


def _box(xy: Floats, unit: Unit, size: Array | None) -> Floats:
    """(2, 2) least and greatest x and y of a picture (h, w), or of all points if its size is unknown."""
    if size is not None:
        return unit.to_local(_corners(size))
    shown = unit.to_given(xy)
    xy = xy[unit.near(shown)] if unit.near(shown).any() else xy
    return np.array([xy.min(axis=0), xy.max(axis=0)])


def _adapt(config: MatchConfig, n: int, spacing: float) -> MatchConfig:
    """Adapt the settings that depend on the number of candidates to n given matches.

    spacing: working pixels from a match to its neighbours in an object. If there are few matches, objects are
    small and merge at larger affinities, by the law given in `ClusteringConfig`; chance agreements of a given
    size are also rarer.
    """
    rise, reach = (USUAL_N_MATCHES / n) ** 1.5, spacing / USUAL_SPACING
    smooth_map, objects = config.smooth_map, config.objects
    return replace(
        config,
        graph=replace(
            config.graph, n_candidates=config.graph.n_candidates or 2 * config.clustering.n_neighbors
        ),
        clustering=cut(config.clustering, min_affinity=config.clustering.min_affinity * rise),
        smooth_map=cut(smooth_map, reach=smooth_map.reach * reach),
        objects=cut(need_fewer(objects), gap=objects.gap * reach),
    )
