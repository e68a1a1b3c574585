"""Matches from anywhere, grouped into objects by the same stages as the program's own candidates.

Given points may have any unit, come from pictures of any size and be few or many, so lengths are taken from
the points. Each picture first gets a unit of its own, the spread of its points. Then objects are grown from
the matches that agree best with their neighbours. The accuracy of the points of significant objects is the
working unit, and their density determines how far the grouping reaches. If none is significant, there are no
objects.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from matching._common.arrays import invert_matrices
from matching._common.threads import default_threads
from matching._common.types import Array, Floats, Ints
from matching.config import MatchConfig, check_config
from matching.correspondences.correspondences import Correspondences
from matching.correspondences.distances import find_nearest_among
from matching.errors import InputError
from matching.grouping import GIVEN, Groups, group
from matching.grouping.local_maps import LocalMaps, vote_for_maps
from matching.grouping.rejections import all_of_stage, mark_dropped, name_stages
from matching.grouping.significance import APART, DEPENDENT, TRIED, grow_objects
from matching.objects.description import MatchedObject, add_things
from matching.objects.things import find_things_of_pair
from matching.pipelines.given_input import Sizes, check_given
from matching.pipelines.given_planes import split_into_planes
from matching.pipelines.given_units import Unit, find_unit, hide_shares, take_back
from matching.pipelines.pair import describe_objects
from matching.result import MatchResult
from matching.settings import MAX_MATCHES
from matching.stages import Stages

VOTERS = 8  # neighbours that choose the map around a match; the least matches of an object
SEEDS = 128  # matches from which objects are grown to tell how accurate the points are
FINE = 0.002  # of the spread of points: the unit of what follows
NOISES = 0.5, 1.0, 2.0, 4.0, 8.0  # of points, in that unit, which are tried
ACCURATE = 4.0  # deviations of the points are a working pixel: most points are within one
SPACING = 28.0  # working pixels from a match of an object to its 8th neighbour that settings are made for
LISTED = MAX_MATCHES.default  # matches of the program's own list, for which the settings were chosen


@dataclass(frozen=True, eq=False)
class _Matches:
    """Given matches in units of the spread of each picture, each place once, in an order of their own.

    `row` (n,) is where each given match is among them.
    """

    xy0: Floats
    xy1: Floats
    maps: Array | None
    row: Ints


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
    """Group matches that come from elsewhere into the objects that both pictures show.

    Parameters
    ----------
    xy0, xy1 : (n, 2) array_like
        The points of each match in picture 0 and 1, in any unit, with any origin and axes. A keypoint may
        belong to several matches.
    frames0, frames1 : (n, 2, 2) array_like, optional
        Size, direction and shape of the keypoints of each match; give both or none. A frame maps a keypoint's
        own normal coordinates to the picture, so that F1 F0^-1 maps the surroundings of the match from
        picture 0 to picture 1; [[s, 0], [0, s]] for a keypoint of size s without direction.
    sizes : ((h0, w0), (h1, w1)), optional
        Sizes of the pictures, in the unit of the points; whole numbers count pixels, with (0, 0) the centre
        of the first one. If most points lie outside of the pictures, objects have no frames and no shares of
        the pictures.
    score : (n,) array_like, optional
        Smaller is better, as in `MatchResult`. If several matches join the same two places, the frames of the
        best one count.
    mirrored : bool or "auto"
        Which maps are tried around each match. True: mirroring ones, as if y points up in only one picture;
        False: the others; "auto": both, for all matches together and for each. The `motion` of an object says
        whether it is mirrored.
    planes : bool
        Whether to split each object into planes; matches on none of them become outliers.
    config : MatchConfig
        The settings; only `graph`, `clustering`, `smooth_map`, `suppression`, `objects` and `max_matches`
        count. The latter is the number of matches that are clustered at a time, and sampled for the maps
        around each; all others may join objects. Its lengths are working pixels, see
        `matching.pipelines.given`.

    Returns
    -------
    MatchResult
        One row per match, in the order given.

    Raises
    ------
    InputError
        A ValueError: an array has the wrong shape or holds numbers that are not finite, or `mirrored` is
        something else.
    """
    check_config(config)
    if not (isinstance(mirrored, bool | np.bool) or mirrored == "auto"):
        raise InputError(f'mirrored must be True, False or "auto", got {mirrored!r}')
    start = time.perf_counter()
    x0, x1, maps, both_sizes, own_score = check_given(xy0, xy1, frames0, frames1, sizes, score)
    if not len(x0):
        return MatchResult(
            x0, x1, np.empty(0, np.int64), own_score, (), {}, config=config, dropped_by=np.empty(0, np.str_)
        )
    units = find_unit(x0, both_sizes[0]), find_unit(x1, both_sizes[1])
    groups, unit1 = label_matches(x0, x1, maps, both_sizes, own_score, config, mirrored=mirrored, units=units)
    if planes:
        groups = split_into_planes(units[0].to_local(x0), units[1].to_local(x1), groups)
    grouped = time.perf_counter()
    objects = _describe(x0, x1, groups, config.graph.scale * unit1, both_sizes, units)
    things = find_things_of_pair([o.outline0 for o in objects], [o.outline1 for o in objects])
    timings = {"grouping": grouped - start, "objects": time.perf_counter() - grouped}
    return MatchResult(
        x0,
        x1,
        groups.labels,
        own_score,
        add_things(objects, things),
        timings,
        config=config,
        things=things,
        rejected=tuple(item.locate(x0, x1) for item in groups.rejected),
        dropped_by=name_stages(groups.told_stages),
    )


def _describe(
    xy0: Floats, xy1: Floats, groups: Groups, tolerance: float, sizes: Sizes, units: tuple[Unit, Unit]
) -> tuple[MatchedObject, ...]:
    """Describe the objects of groups; how much of the pictures they cover is unknown without valid sizes."""
    if not all(
        size is not None and _lie_within(xy, size) for xy, size in zip((xy0, xy1), sizes, strict=True)
    ):
        sizes = None, None
    local = units[0].to_local(xy0), units[1].to_local(xy1)
    boxes = _box(local[0], units[0], sizes[0]), _box(local[1], units[1], sizes[1])
    shown = _sample(*local, groups)
    objects = describe_objects(*local, shown, tolerance / units[1].size, boxes)
    described = []
    for k, found in enumerate(objects):
        own = groups.labels == k
        found = replace(found, n_matches=int(own.sum()))
        described.append(take_back(found, units, (xy0[own], xy1[own])))
    return tuple(found if sizes[0] is not None else hide_shares(found) for found in described)


def _sample(xy0: Floats, xy1: Floats, groups: Groups) -> Groups:
    """The groups with at most LISTED matches each, for speed; the same ones for any order of the rows."""
    labels = groups.labels.copy()
    for k in range(len(groups.scores)):
        own = np.flatnonzero(labels == k)
        if len(own) > LISTED:
            own = own[np.lexsort(np.hstack([xy0[own], xy1[own]]).T)]
            labels[own] = -1
            labels[np.random.default_rng(0).permutation(own)[:LISTED]] = k
    return replace(groups, labels=labels)


def _lie_within(xy: Floats, size: Array) -> bool:
    least, greatest = _corners(size)
    return bool(((xy >= least) & (xy <= greatest)).all(axis=1).mean() > 0.5)


def _corners(size: Array) -> Floats:
    """(2, 2) first and last corner of a picture (h, w), whole pixels being counted from the first centre."""
    half = 0.5 if (size == np.rint(size)).all() else 0.0
    return np.array([[0.0, 0.0], size[::-1]]) - half


def _box(xy: Floats, unit: Unit, size: Array | None) -> Floats:
    """(2, 2) least and greatest x and y of a picture (h, w), or of all points where its size is not known."""
    if size is not None:
        return unit.to_local(_corners(size))
    shown = unit.to_given(xy)
    xy = xy[unit.near(shown)] if unit.near(shown).any() else xy
    return np.array([xy.min(axis=0), xy.max(axis=0)])


def label_matches(
    xy0: Floats,
    xy1: Floats,
    maps: Array | None = None,
    sizes: Sizes = (None, None),
    score: Floats | None = None,
    config: MatchConfig = MatchConfig(),
    stages: Stages = GIVEN,
    mirrored: bool | Literal["auto"] = "auto",
    units: tuple[Unit, Unit] | None = None,
) -> tuple[Groups, float]:
    """Group as `group_matches`, without checks: xy0, xy1 (n, 2); maps (n, 2, 2); sizes (h, w); score (n,)."""
    units = units or (find_unit(xy0, sizes[0]), find_unit(xy1, sizes[1]))
    near = units[0].near(xy0) & units[1].near(xy1)  # a stray coordinate is none of a picture
    labels = np.full(len(near), -1, np.int64)
    dropped_by = all_of_stage("stray", labels)
    maps = None if maps is None else maps[near] * (units[0].spread / units[1].spread)
    places = units[0].round_to_single(xy0[near]), units[1].round_to_single(xy1[near])
    matches = _sort_matches(*places, maps, np.zeros(len(places[0])) if score is None else score[near])
    n = len(matches.xy0)
    if n < VOTERS:
        dropped_by = mark_dropped(dropped_by, "candidates", near)
        return Groups(labels, np.empty(0), np.empty(0), (), dropped_by), units[1].spread
    slope = config.graph.slope * config.graph.coarseness
    sample = np.sort(np.random.default_rng(0).permutation(n)[: config.candidates.max_matches])
    matches, local = _local_maps(matches, sample, slope, mirrored)
    measured = _measure_points(matches, local, sample, config.objects.max_log_nfa - DEPENDENT)
    if measured is None:
        dropped_by = mark_dropped(dropped_by, "significance", near)
        return Groups(labels, np.empty(0), np.empty(0), (), dropped_by), units[1].spread
    unit, spacing = measured
    correspondences = Correspondences(matches.xy0 / unit, matches.xy1 / unit, local.maps)
    order, row = _put_agreeing_first(local, len(sample)), matches.row
    row = np.argsort(order)[row]
    adapted = _adapt(config, len(sample), spacing / unit)
    found = group(correspondences[order], len(sample), adapted, default_threads(), stages)
    labels[near], dropped_by[near] = found.labels[row], found.told_stages[row]
    rows = np.flatnonzero(near)
    rejected = tuple(replace(item, members=rows[np.isin(row, item.members)]) for item in found.rejected)
    return replace(found, labels=labels, rejected=rejected, stages=dropped_by), unit * units[1].spread


def _put_agreeing_first(local: LocalMaps, n_listed: int) -> Ints:
    """(n,) the order of matches in which those that are clustered, n_listed at a time, come first: those
    whose map explains most of their neighbours, in random order, then the others by their support. As they
    are where all are clustered.
    """
    n = len(local.support)
    if n_listed == n:
        return np.arange(n)
    rank = np.where(local.agreeing, np.random.default_rng(0).random(n), 1 + n - n * local.support)
    return np.argsort(rank, kind="stable")


def _measure_points(
    matches: _Matches, local: LocalMaps, sample: Ints, max_log_nfa: float
) -> tuple[float, float] | None:
    """Accuracy of the points of significant objects, and spacing of the most significant one, or None.

    Both are measured on the objects of a sample.
    """
    xy0, xy1 = matches.xy0[sample], matches.xy1[sample]
    local = LocalMaps(local.maps[sample], local.support[sample], np.searchsorted(sample, local.near[sample]))
    scaled = Correspondences(xy0 / FINE, xy1 / FINE, local.maps)
    seeds = _choose_seeds(scaled, local)
    if not len(seeds):
        return None
    mirrored = scaled.mirrored[seeds[:, 0]]
    grown = grow_objects(scaled, seeds, NOISES, mirrored, by_maps=False, n_threads=default_threads())
    best, significant = int(np.argmin(grown.log_nfa)), grown.log_nfa <= max_log_nfa
    if not significant.any():
        return None
    members = grown.members[best][grown.members[best] >= 0]
    gap = _longer(*(xy[members, None] - xy[members] for xy in (xy0, xy1)))
    spacing = np.median(np.sort(gap, axis=1)[:, min(VOTERS, len(members) - 1)])
    return ACCURATE * FINE * float(np.median(grown.noise[significant])), float(spacing)


def _choose_seeds(scaled: Correspondences, local: LocalMaps) -> Ints:
    """(s, 2) the matches whose neighbours agree best, each with the neighbours that its map explains best."""
    best = np.argsort(-local.support, kind="stable")[:SEEDS]
    others = local.near[best]
    u, v = (xy[others] - xy[best, None] for xy in (scaled.xy0, scaled.xy1))
    error = np.linalg.norm(v - np.einsum("sab,skb->ska", local.maps[best], u), axis=2) / _longer(u, v)
    error[np.minimum(np.linalg.norm(u, axis=2), np.linalg.norm(v, axis=2)) < APART] = np.inf
    chosen = np.argsort(error, axis=1, kind="stable")[:, :TRIED]
    pairs = np.stack(np.broadcast_arrays(best[:, None], np.take_along_axis(others, chosen, axis=1)), axis=2)
    seeds: Ints = pairs[np.isfinite(np.take_along_axis(error, chosen, axis=1))]
    return seeds


def _longer(u: Floats, v: Floats) -> Floats:
    """Lengths of displacements in the picture where these are longer."""
    return np.asarray(np.maximum(np.linalg.norm(u, axis=-1), np.linalg.norm(v, axis=-1)))


def _local_maps(
    matches: _Matches, sample: Ints, slope: float, mirrored: bool | Literal["auto"]
) -> tuple[_Matches, LocalMaps]:
    """Maps of the matches that the nearest of a sample, as large as the program's own list, vote for.

    If most maps are mirrored, as when y points up in one picture, picture 1 is turned over. With "auto", so
    is the map of each match that explains its neighbours better that way.
    """
    places = np.hstack([matches.xy0, matches.xy1])
    n_voters = min(VOTERS, len(sample) - 1)
    near = find_nearest_among(places, sample, n_voters, default_threads())
    over = np.array([-1.0, 1.0])
    turned = replace(
        matches,
        xy1=matches.xy1 * over + 0.0,  # no -0.0
        maps=None if matches.maps is None else matches.maps * over[:, None],
    )
    if mirrored != "auto":
        matches = turned if mirrored else matches
        return matches, vote_for_maps(matches.xy0, matches.xy1, near, slope, matches.maps)
    kept, others = (vote_for_maps(m.xy0, m.xy1, near, slope, m.maps) for m in (matches, turned))
    if np.count_nonzero(others.agreeing) > np.count_nonzero(kept.agreeing) + VOTERS:
        matches, kept, others = turned, others, kept
    better = others.agreeing & ~kept.agreeing
    better &= 2 * better[near].sum(axis=1) > n_voters  # mirrored objects have many such matches together
    return matches, LocalMaps(
        np.where(better[:, None, None], over[:, None] * others.maps, kept.maps),
        np.where(better, others.support, kept.support),
        near,
    )


def _adapt(config: MatchConfig, n: int, spacing: float) -> MatchConfig:
    """Adapt settings that depend on the length of the program's own list to n given matches.

    spacing: working pixels from a match to its neighbours in an object. Few matches mean small objects, which
    merge at larger affinities, by the law of `ClusteringConfig`; chance agreements of a given size are rarer.
    """
    rise, reach = (LISTED / n) ** 1.5, spacing / SPACING
    smooth_map, objects = config.smooth_map, config.objects
    return replace(
        config,
        graph=replace(
            config.graph, n_candidates=config.graph.n_candidates or 2 * config.clustering.n_neighbors
        ),
        clustering=replace(config.clustering, min_affinity=config.clustering.min_affinity * rise),
        smooth_map=replace(smooth_map, reach=smooth_map.reach * reach),
        objects=replace(
            objects,
            min_matches=min(objects.min_matches, VOTERS),
            gap=objects.gap * reach,
        ),
    )


def _sort_matches(x0: Floats, x1: Floats, maps: Array | None, score: Floats) -> _Matches:
    """The _Matches at places x0, x1 (n, 2). Swapped pictures give the same, by a rule of their own."""
    if np.sort(x0, axis=0).tobytes() > np.sort(x1, axis=0).tobytes():
        x0, x1, maps = x1, x0, None if maps is None else invert_matrices(maps)
    places = np.hstack([x0, x1])
    ties = () if maps is None else maps.reshape(-1, 4).T
    order = np.lexsort((*ties, score, *places.T))
    new = np.ones(len(order), bool)
    new[1:] = (places[order[1:]] != places[order[:-1]]).any(axis=1)
    row = np.empty(len(order), np.int64)
    row[order] = np.cumsum(new) - 1
    first = order[new]
    return _Matches(x0[first], x1[first], None if maps is None else maps[first], row)
