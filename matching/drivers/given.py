"""Matches from anywhere, grouped into objects by the same steps as this program's candidates.

Given points may have any unit, come from pictures of any size, and be few or many. So all lengths are derived
from the points:

    stray       each picture gets a unit, the spread of its points; stray points leave     points/units.py
    maps        the map around each match, from its neighbours                             points/maps.py
    pixel       the working pixel, from the accuracy of the points of significant objects  points/maps.py
    grouping    as `GIVEN`, with a reach that fits the spacing of an object's matches      group.py
    scatter     without the pictures, groups that agree only roughly leave                 points/scatter.py
    solids      solid things take in the matches on them that the smooth map lacks         points/solids.py
    planes      on request, the planes of each object                                      points/planes.py
    objects     their description, in the units of the points
    agreement   if the pictures are given, what lies between the matches                   judge.py
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np

from matching._common.types import Array, Floats, Ints
from matching.correspondences.correspondences import Correspondences
from matching.drivers.points.checks import Sizes
from matching.drivers.points.maps import (
    choose_local_maps,
    measure_points,
    put_agreeing_first,
    sort_matches,
)
from matching.drivers.points.planes import find_planes
from matching.drivers.points.readings import find_reading
from matching.drivers.points.scatter import drop_scattered
from matching.drivers.points.scene import regroup
from matching.drivers.points.solids import find_solids
from matching.drivers.points.trust import choose_best, measure_odds, measure_trust
from matching.drivers.points.units import Unit, find_unit, hide_shares, take_back
from matching.drivers.result import Result, make_result
from matching.errors import InputError
from matching.grouping.config import MatchConfig
from matching.grouping.group import group
from matching.grouping.groups import FEW_MATCHES, Group, label_groups, need_fewer, number_rows
from matching.grouping.ledger import Ledger, RejectedGroup, put_largest_first
from matching.grouping.methods import GIVEN, GIVEN_ALONE, Method
from matching.objects.copies import find_things_of_pair
from matching.objects.description import MatchedObject, add_things
from matching.pictures.images import Picture, make_picture
from matching.searches.clock import Clock
from matching.searches.description import describe_objects
from matching.searches.judge import add_looks, judge, split_open
from matching.searches.proposals import Listing, Proposal, label_matches
from matching.settings import cut

# Working pixels from a match to its 8th neighbour, and number of matches, in this program's own candidates:
# given matches are rescaled to them, because the default settings assume them.
USUAL_SPACING = 28.0
USUAL_N_MATCHES = 3000
MAX_DESCRIBED = 3000  # matches from which an object is described: limits the work


@dataclass(frozen=True, eq=False)
class GivenMatches:
    """The n given matches."""

    xy0: Floats  # (n, 2), in any unit
    xy1: Floats
    maps: Array | None  # (n, 2, 2), the maps that the frames predict
    sizes: Sizes
    score: Floats  # (n,)

    @cached_property
    def units(self) -> tuple[Unit, Unit]:
        """The units of both pictures."""
        return find_unit(self.xy0, self.sizes[0]), find_unit(self.xy1, self.sizes[1])

    @property
    def local(self) -> tuple[Floats, Floats]:
        """The points (n, 2) relative to their middle, in the units of `points.units`."""
        return self.units[0].to_local(self.xy0), self.units[1].to_local(self.xy1)


def read_pictures(images: tuple[Any, Any]) -> tuple[Picture, Picture] | None:
    """Read both pictures; None if neither is given."""
    if images[0] is None and images[1] is None:
        return None
    for k, image in enumerate(images):
        if image is None:
            raise InputError(f"image{k} must be given if the other one is, got None")
    return make_picture(images[0], "image0"), make_picture(images[1], "image1")


def fit_to_pictures(given: GivenMatches, pictures: tuple[Picture, Picture]) -> GivenMatches:
    """Check that the points are pixels of the pictures, and take over their sizes."""
    sizes = tuple(np.array(picture.rgb.shape[:2], float) for picture in pictures)
    for k, (xy, size, seen) in enumerate(zip((given.xy0, given.xy1), given.sizes, sizes, strict=True)):
        height, width = seen.astype(int).tolist()
        if size is not None and (size != seen).any():
            raise InputError(
                f"sizes must be those of the pictures, ({height}, {width}) for image{k}, got {size.tolist()}"
            )
        if len(xy) and not _lie_within(xy, seen):
            raise InputError(
                f"xy{k} must be pixels of image{k}, {width} x {height}, but most points lie outside it"
            )
    return replace(given, sizes=(sizes[0], sizes[1]))


def find_objects_among(
    given: GivenMatches,
    pictures: tuple[Picture, Picture] | None,
    config: MatchConfig,
    mirrored: bool | Literal["auto"] = "auto",
    *,
    planes: bool = False,
) -> Result:
    """Find the objects among given matches; the pictures, if known, have the sizes of the matches."""
    clock, ledger = Clock(), Ledger(len(given.xy0))
    method = GIVEN_ALONE if pictures is None else GIVEN
    groups, pixel = group_given(given, config, mirrored, ledger, clock, method)
    if pictures is None and groups:
        groups = drop_scattered(*given.local, groups, ledger)
        clock.lap("scatter")
    trust = np.ones(len(given.xy0))
    if groups:
        trust = measure_trust(given.score, label_groups(len(given.xy0), groups) >= 0)
    if groups:
        conditions = need_fewer(config.objects)
        step, find = (
            ("planes", find_planes)
            if planes
            else ("solids", partial(find_solids, mirrored=mirrored, config=conditions))
        )
        groups = regroup(*given.local, measure_odds(trust), groups, find, step, ledger)
        clock.lap(step)
    listing = locate_given(given, groups, ledger, pixel)
    objects = describe_given(given, groups, config.graph.scale, pixel, trust)
    kept = list(listing.proposals)
    clock.lap("objects")
    rejected: tuple[RejectedGroup, ...] = ()
    if pictures is not None:
        judged = judge(listing.proposals, *pictures, config.graph.scale)
        rows, rejected = split_open(judged)
        kept, looked = [kept[k] for k in rows], [judged[k] for k in rows]
        objects = [replace(objects[k], id=number) for number, k in enumerate(rows)]
        objects = add_looks(objects, looked, pictures[0].box)
        if judged and not rows and (reading := find_reading(judged[0].look)):
            warnings.warn(f"nothing agrees where the points are; {reading}", stacklevel=2)
        clock.lap("agreement")
    matches = label_matches(listing, kept, (), None)
    things = find_things_of_pair(objects)
    return make_result(
        matches,
        add_things(objects, things),
        clock,
        config,
        things=things,
        rejected=put_largest_first((*listing.rejected, *rejected)),
    )


def group_given(
    given: GivenMatches,
    config: MatchConfig,
    mirrored: bool | Literal["auto"],
    ledger: Ledger,
    clock: Clock | None = None,
    method: Method = GIVEN_ALONE,
) -> tuple[list[Group], float]:
    """Group given matches into objects; also return the working pixel, in spreads of the points.

    If few matches are very accurate, the pixel is made larger, because the tolerance of the graph grows with
    the distance, and the matches would otherwise be too far apart to support each other. With many outliers,
    the smaller pixel works better.
    """
    clock = clock or Clock()
    if not len(given.xy0):
        return [], 1.0
    unit0, unit1 = given.units
    is_near = unit0.near(given.xy0) & unit1.near(given.xy1)
    ledger.reach("stray", ~is_near)
    maps = None if given.maps is None else given.maps[is_near] * (unit0.spread / unit1.spread)
    places = unit0.round_to_single(given.xy0[is_near]), unit1.round_to_single(given.xy1[is_near])
    matches = sort_matches(*places, maps, given.score[is_near])
    clock.lap("stray")
    sample = choose_best(matches.score, np.arange(len(matches.score)), config.candidates.max_matches)
    if len(sample) < FEW_MATCHES:
        return [], 1.0
    slope = config.graph.slope * config.graph.coarseness
    matches, local = choose_local_maps(matches, sample, slope, mirrored)
    clock.lap("maps")
    measured = measure_points(matches, local, sample, config.objects.max_log_nfa)
    clock.lap("pixel")
    if measured is None:
        ledger.reach("significance", is_near)
        return [], 1.0
    pixel, spacing = measured
    if np.mean(local.agreeing) > 0.5:  # few outliers: see above
        pixel = max(pixel, spacing * config.graph.slope / (config.graph.coarseness * config.graph.scale))
    correspondences = Correspondences(matches.xy0 / pixel, matches.xy1 / pixel, local.maps)
    order = put_agreeing_first(local, matches.score, len(sample))
    # the places in this order of the given matches, whose rows these are
    rows, position = np.flatnonzero(is_near), np.argsort(order)[matches.row]
    adapted = adapt(config, len(sample), spacing / pixel)
    groups = group(correspondences[order], len(sample), adapted, method, ledger.renumber(rows, position))
    clock.lap("grouping")
    return [replace(found, rows=rows[np.isin(position, found.rows)]) for found in groups], pixel


def describe_given(
    given: GivenMatches, groups: Sequence[Group], scale: float, pixel: float, trust: Floats
) -> list[MatchedObject]:
    """Describe the objects in the units of the points; shares of pictures are known only with valid sizes.

    scale: the tolerance, in working pixels; pixel: a working pixel, in spreads of the points; trust (n,): how
    likely matches are right.
    """
    if not groups:
        return []
    units, sizes, (xy0, xy1) = given.units, given.sizes, given.local
    if not all(
        size is not None and _lie_within(xy, size)
        for xy, size in zip((given.xy0, given.xy1), sizes, strict=True)
    ):
        sizes = None, None
    boxes = _box(xy0, units[0], sizes[0]), _box(xy1, units[1], sizes[1])
    labels = number_rows(len(xy0), [_sample(xy0, xy1, found.rows) for found in groups])
    tolerances = np.full(len(groups), scale * (pixel * units[1].spread) / units[1].size)
    described = []
    objects = describe_objects(xy0, xy1, labels, groups, tolerances, boxes, trust)
    for found, local in zip(groups, objects, strict=True):
        points = given.xy0[found.rows], given.xy1[found.rows]
        converted = take_back(replace(local, n_matches=len(found.rows)), units, points)
        described.append(hide_shares(converted) if sizes[0] is None else converted)
    return described


def locate_given(given: GivenMatches, groups: Sequence[Group], ledger: Ledger, pixel: float) -> Listing:
    """The matches, and the groups that they propose; pixel: a working pixel, in spreads of the points."""
    dropped_by, rejected = ledger.close(label_groups(len(given.xy0), groups), given.xy0, given.xy1)
    steps = np.array([pixel * unit.spread for unit in given.units]) if groups else np.ones(2)
    proposals = tuple(
        Proposal(
            one.rows,
            given.xy0[one.rows],
            given.xy1[one.rows],
            given.score[one.rows],
            one.score,
            steps,
            one.log_nfa,
        )
        for one in groups
    )
    return Listing(given.xy0, given.xy1, given.score, dropped_by, proposals, rejected)


def _sample(xy0: Floats, xy1: Floats, rows: Ints) -> Ints:
    """Choose at most MAX_DESCRIBED of the rows (n,) of an object, whatever their order."""
    if len(rows) <= MAX_DESCRIBED:
        return rows
    rows = rows[np.lexsort(np.hstack([xy0[rows], xy1[rows]]).T)]
    return np.random.default_rng(0).permutation(rows)[:MAX_DESCRIBED]


def _lie_within(xy: Floats, size: Array) -> bool:
    """Whether more than half of the points (n, 2) lie within a picture (h, w)."""
    first, last = _corners(size)
    return bool(((xy >= first) & (xy <= last)).all(axis=1).mean() > 0.5)


def _corners(size: Array) -> Floats:
    """(2, 2) first and last corner of a picture (h, w); whole pixels count from the centre of the first."""
    half = 0.5 if (size == np.rint(size)).all() else 0.0
    return np.array([[0.0, 0.0], size[::-1]]) - half


def _box(xy: Floats, unit: Unit, size: Array | None) -> Floats:
    """(2, 2) smallest and largest x and y of a picture (h, w), or of its points if the size is unknown."""
    if size is not None:
        return unit.to_local(_corners(size))
    is_near = unit.near(unit.to_given(xy))
    xy = xy[is_near] if is_near.any() else xy
    return np.array([xy.min(axis=0), xy.max(axis=0)])


def adapt(config: MatchConfig, n: int, spacing: float) -> MatchConfig:
    """Adapt the settings that depend on the number of candidates to n given matches.

    spacing: working pixels from a match to its neighbours in an object. If there are few matches, objects are
    small and merge at larger affinities, by the law given in `ClusteringConfig`; chance agreements of a given
    size are also rarer.
    """
    affinity_factor, length_factor = (USUAL_N_MATCHES / n) ** 1.5, spacing / USUAL_SPACING
    smooth_map, objects = config.smooth_map, config.objects
    return replace(
        config,
        graph=replace(
            config.graph, n_candidates=config.graph.n_candidates or 2 * config.clustering.n_neighbors
        ),
        clustering=cut(config.clustering, min_affinity=config.clustering.min_affinity * affinity_factor),
        smooth_map=cut(smooth_map, reach=smooth_map.reach * length_factor),
        merging=cut(config.merging, part_gap=config.merging.part_gap * length_factor),
        objects=cut(need_fewer(objects), gap=objects.gap * length_factor),
    )
