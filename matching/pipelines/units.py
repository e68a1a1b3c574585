"""Where a part of one picture stands again: its features are matched with all others, and grouped.

A unit is what is counted. Where it overlaps with its own copies, as several tiles of a wall do, it is cut: of
each shift onto a copy, it keeps what lies within the length of the shift from its beginning.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import shapely

from matching._common.threads import default_threads
from matching._common.types import Floats, Ints
from matching.config import MatchConfig
from matching.correspondences.candidates import Candidates, match_rows
from matching.correspondences.correspondences import Correspondences
from matching.features.extraction import Features
from matching.grouping.objects import Groups
from matching.objects.transforms import apply_transform, fit_transform, median_error

PER_FEATURE = 64  # others that each feature of a unit is matched with, at most: copies that can be counted
MARGIN = 6.0  # pixels around matches in which features are of the unit too
OVERLAP = 0.15  # of its area that a unit may share with a copy of it
FEW = 0.25  # of the matches of its best place: what has as many is a place, whatever else looks like it
CRUMB = 0.125  # of the matches of a place: what has fewer and moves with it is of the same thing
LIMIT = 1000.0  # false alarms that keep everything
SAME = 0.5  # of its area that a place may share with a better one

Group = Callable[[Correspondences, int, MatchConfig, int], Groups]


@dataclass(frozen=True, eq=False)
class Unit:
    """A part of a picture and the places where it stands again.

    Parameters
    ----------
    shapes : (1 + n,) array of polygons
        Of the unit, and of the other places.
    candidates : Candidates
        The matches (m,), from the unit to the places.
    labels : (m,) int64
        The place of each, 0, 1, ...
    groups : Groups
        Of these matches.
    """

    shapes: np.ndarray
    candidates: Candidates
    groups: Groups

    def holds(self, xy0: Floats, xy1: Floats, reach: float) -> bool:
        """Whether half of the matches (n, 2) between two places, or more, lie in places of it, or so near."""
        union = shapely.union_all(self.shapes).buffer(reach)
        inside = shapely.intersects_xy(union, *xy0.T) & shapely.intersects_xy(union, *xy1.T)
        return bool(2 * inside.sum() >= len(xy0))

    def leads(self, xy0: Floats, xy1: Floats, reach: float) -> bool:
        """Whether few matches (n, 2) between two places go where those of one of its places lead, about."""
        for k in range(len(self.groups.scores)):
            own = self.candidates[self.groups.labels == k]
            if len(xy0) < CRUMB * len(own):
                transform = fit_transform(own.xy0, own.xy1)[0]
                if min(median_error(transform, *ends) for ends in ((xy0, xy1), (xy1, xy0))) <= reach:
                    return True
        return False


def find_unit(
    features: Features, clearance: Floats, xy0: Floats, xy1: Floats, config: MatchConfig, group: Group
) -> Unit | None:
    """Find the unit that matches between two places show, and all its places; None for a texture.

    clearance (m,) float64; xy0, xy1 (n, 2) float64.
    """
    shape = shapely.convex_hull(shapely.multipoints(xy0)).buffer(MARGIN)
    shifted = _move(shape, xy0, xy1)
    while shape.area > 0:
        if _overlap(shape, shifted) <= OVERLAP:
            rows = np.flatnonzero(shapely.intersects_xy(shape, *features.xy.T))
            if len(rows) < config.objects.min_matches:
                return None
            found = _match(features, rows, clearance, shape, config, group)
            shifts = [own for own in found.shapes[1:] if _overlap(shape, own) > OVERLAP]
            if not shifts:
                return found
            shifted = min(shifts, key=lambda own: own.centroid.distance(shape.centroid))
        shape = _cut(shape, shifted)
        shifted = shapely.Polygon()
    return None


def _match(
    features: Features,
    rows: Ints,
    clearance: Floats,
    shape: shapely.Polygon,
    config: MatchConfig,
    group: Group,
) -> Unit:
    """The places that show what lies in a shape."""
    how = replace(config.candidates, per_feature=PER_FEATURE)
    candidates = match_rows(features, rows, clearance, how, default_threads(), config.mirrored)
    correspondences = Correspondences(candidates.xy0, candidates.xy1, candidates.maps)
    # Where all of a page is alike, chance explains each of the places: matches of the others are its measure.
    every = replace(config, objects=replace(config.objects, max_log_nfa=LIMIT))
    groups = group(correspondences, len(candidates), every, default_threads())
    sizes = np.bincount(groups.labels[groups.labels >= 0], minlength=len(groups.scores))
    significant = [_is_significant(groups, k, config) for k in range(len(sizes))]
    least = FEW * sizes[significant].max() if any(significant) else np.inf
    shapes, kept = [shape], np.zeros(len(sizes), bool)
    for k in np.argsort(-sizes, kind="stable"):
        own = groups.labels == k
        there = _move(shape, candidates.xy0[own], candidates.xy1[own])
        if sizes[k] < least and (_overlap(there, shape) > OVERLAP or not significant[k]):
            continue
        if all(_overlap(there, other) <= SAME for other in shapes[1:]):
            kept[k] = True
            shapes.append(there)
    labels = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)[groups.labels]
    log_nfa = None if groups.log_nfa is None else groups.log_nfa[kept]
    chosen = labels >= 0
    own_groups = Groups(labels[chosen], groups.scores[kept], log_nfa)
    return Unit(np.array(shapes), candidates[chosen], own_groups)


def _is_significant(groups: Groups, k: int, config: MatchConfig) -> bool:
    return groups.log_nfa is None or bool(groups.log_nfa[k] <= config.objects.max_log_nfa)


def _move(shape: shapely.Polygon, xy0: Floats, xy1: Floats) -> shapely.Geometry:
    """Where matches take a shape."""
    transform = fit_transform(xy0, xy1)[0]
    return shapely.transform(shape, lambda xy: apply_transform(transform, xy)).buffer(0)


def _overlap(shape: shapely.Geometry, other: shapely.Geometry) -> float:
    """The share of the smaller of two shapes that lies in the other one."""
    return float(shape.intersection(other).area / max(min(shape.area, other.area), 1e-9))


def _cut(shape: shapely.Polygon, shifted: shapely.Geometry) -> shapely.Geometry:
    """What lies at the beginning of a shape, as far as the shift that takes its middle to that of another."""
    shift = shapely.get_coordinates(shifted.centroid)[0] - shapely.get_coordinates(shape.centroid)[0]
    length = float(np.linalg.norm(shift))
    if length < 1:
        return shapely.Polygon()
    along = shift / length * (-1 if (shift[0], shift[1]) < (0, 0) else 1)
    across = np.array([-along[1], along[0]])
    corners = shapely.get_coordinates(shape)
    start, wide = (corners @ along).min(), np.abs(corners @ across).max()
    band = [start * along, (start + length) * along]
    strip = shapely.Polygon(
        [*(end - wide * across for end in band), *(end + wide * across for end in band[::-1])]
    )
    return shape.intersection(strip)
