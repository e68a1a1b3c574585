"""The smooth map of an object: matches that it does not explain leave the object, and others join.

A correspondence is predicted in both directions from the n_neighbors nearest matches of the object, excluding
itself, by a thin-plate spline that smooths according to the accuracy of the points. The prediction is also
the best linear one (kriging) of a random field, with a variance that is larger where matches are sparse or
the object bends strongly. (Wahba, Spline Models for Observational Data, 1990; Kent and Mardia, The link
between kriging and thin-plate splines, 1994.)

Notation: x, y (n, 2) are the object's points in the two images, in pixels of the image where it is smaller.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from matching._common.threads import run_in_ranges
from matching._common.types import Array, Bools, Floats, Ints
from matching.correspondences.correspondences import Correspondences, measure_magnification
from matching.correspondences.distances import measure_agreeing_shares
from matching.correspondences.points import NearestMembers, is_in_box
from matching.grouping import _kernels
from matching.grouping.graph import GraphConfig
from matching.grouping.groups import (
    ObjectsConfig,
    Part,
    is_object,
    measure_map_error,
    sort_by_size,
)
from matching.grouping.ledger import Ledger
from matching.settings import check_settings, setting

MIN_MEMBERS = 4  # matches: three fix an affine map, and one more tests it


@dataclass(frozen=True)
class SmoothMapConfig:
    """How far a match may be from what the smooth map of its object predicts.

    All lengths are pixels of the image where the object is smaller.

    Parameters
    ----------
    n_neighbors : int
        Number of matches used for a prediction.
    accuracy : float
        Standard deviation of the points, pixels.
    largest_bend : float
        Largest standard deviation of an object's bends. Stronger bends would let outliers join.
    tolerance : float
        Largest residual of a match, in standard deviations of its prediction. Where matches are so dense that
        only the point itself is uncertain, the default allows 2.4 pixels.
    reach : float
        Largest distance of a joining match from the nearest match of the object, in both images, pixels.
    agreeing : float
        Share of the nearby matches of the object with which the affine map of a joining match must agree. If
        only places were compared, outliers would join.
    """

    n_neighbors: int = setting(12, 4, 1000)
    accuracy: float = setting(0.6, 1e-3, 10_000)
    largest_bend: float = setting(0.1, 1e-4, 1000)
    tolerance: float = setting(4.0, 0, 1e9)
    reach: float = setting(45.0, 0, 1e6)
    agreeing: float = setting(0.25, 0, 1)

    def __post_init__(self) -> None:
        check_settings(self)


def refine_parts(
    correspondences: Correspondences,
    parts: Sequence[Part],
    free: Ints,
    config: SmoothMapConfig,
    graph: GraphConfig,
) -> list[Part]:
    """Remove matches that the smooth map of their part does not explain, and add those that it does.

    free (n,): the rows that are in no object.

    Repeats until no match joins, or a part returns to an earlier state. A match joins only if it has the
    handedness of more than half of the part.
    """
    is_available = np.zeros(len(correspondences), bool)
    is_available[free] = True
    for part in parts:
        is_available[part.rows] = False
    refined, mirrored = [], correspondences.mirrored
    for part in parts:
        members = part.rows
        has_handedness = mirrored == (2 * np.count_nonzero(mirrored[members]) > len(members))
        # those of joining matches remember other places
        maps, of_joining = (_make_maps(correspondences, part, config) for _ in range(2))
        joining = _Joining(correspondences, of_joining, graph)
        earlier_states: set[bytes] = set()
        while members.tobytes() not in earlier_states:
            earlier_states.add(members.tobytes())
            is_available[members] = True
            members = _drop_unexplained(maps, members)
            is_available[members] = False
            new = joining.find(members, np.flatnonzero(is_available & has_handedness))
            if len(new) == 0:
                break
            is_available[new] = False
            members = np.sort(np.concatenate([members, new]))
        refined.append(Part(members, part.bend))
    return refined


def keep_objects(
    correspondences: Correspondences,
    parts: Sequence[Part],
    refined: Sequence[Part],
    conditions: ObjectsConfig,
    max_map_error: float,
    ledger: Ledger,
) -> list[Part]:
    """Keep the refined parts that are objects, the largest first; the parts before enter the ledger.

    max_map_error: pixels.
    """
    kept = []
    for before, part in zip(parts, refined, strict=True):
        ledger.reach("smooth map", np.concatenate([before.rows, part.rows]))
        if is_object(correspondences, part.rows, conditions, max_map_error):
            kept.append(part)
        elif len(part.rows) < conditions.min_matches:
            ledger.drop("smooth map", before.rows, len(part.rows), conditions.min_matches)
        elif math.isinf(max_map_error):
            ledger.drop("line", before.rows)
        else:
            error = measure_map_error(correspondences.xy0[part.rows], correspondences.xy1[part.rows])
            ledger.drop("line", before.rows, error, max_map_error)
    return sort_by_size(kept)


class _Map:
    """The smooth map of one object from x to y (m, 2), the points of all correspondences, as members change.

    Most correspondences keep their neighbours, and with them their predictions, from round to round. `bend`
    is the standard deviation of the object's bends.
    """

    def __init__(self, x: Floats, y: Floats, config: SmoothMapConfig, bend: float) -> None:
        self.x, self.y, self.config, self.bend = x, y, config, bend
        self.smoothing = (config.accuracy / bend) ** 2
        self.near = NearestMembers(x, config.n_neighbors)
        self.is_predicted = np.zeros(len(x), bool)
        self.residual, self.deviation = np.empty((2, len(x)))

    def set_members(self, members: Ints, rows: Ints) -> Bools:
        """Find the members that predict each row, other than the row itself: members (n,), rows (q,).

        Returns (q,) bool: whether the members that predict a row have changed.
        """
        renewed = self.near.renew(members, rows)
        self.is_predicted[rows[renewed]] = False
        return renewed

    def predict(self, rows: Ints) -> tuple[Floats, Floats]:
        """Residual and deviation (q,), in pixels, of the prediction from the members nearest to rows (q,)."""
        new = rows[~self.is_predicted[rows]]
        near = self.near.index[new]
        k = int(np.count_nonzero(near[:1] >= 0))  # fewer if the object has few members
        self.residual[new], self.deviation[new] = spline_residuals(
            self.x, self.y, near[:, :k], self.smoothing, (self.x[new], self.y[new])
        )
        self.is_predicted[new] = True
        return self.residual[rows], self.bend * self.deviation[rows]


def _make_maps(correspondences: Correspondences, part: Part, config: SmoothMapConfig) -> tuple[_Map, _Map]:
    """The smooth maps of an object from image 0 to 1 and back, in pixels of the image where it is smaller."""
    scale = measure_magnification(correspondences, part.rows)
    bend = min(part.bend, config.largest_bend)
    x, y = correspondences.xy0 / scale[0], correspondences.xy1 / scale[1]
    return _Map(x, y, config, bend), _Map(y, x, config, bend)


def _drop_unexplained(maps: tuple[_Map, _Map], members: Ints) -> Ints:
    """Keep the members (n,) that are where the others predict them.

    Of the members that are not, only the worse half leaves at a time: without the worst outliers, the map may
    explain the rest.
    """
    tolerance = maps[0].config.tolerance
    while len(members) > MIN_MEMBERS:
        residual, deviation = np.zeros((2, len(members)))  # the larger of both directions counts
        for map_ in maps:
            map_.set_members(members, members)
            predicted = map_.predict(members)
            residual, deviation = np.maximum(residual, predicted[0]), np.maximum(deviation, predicted[1])
        error = residual / deviation
        is_wrong = error >= tolerance
        if not is_wrong.any():
            break
        members = members[error < max(tolerance, np.quantile(error[is_wrong], 0.5, method="higher"))]
    return members


class _Joining:
    """Finds the correspondences that join an object, as its members come and go."""

    def __init__(self, correspondences: Correspondences, maps: tuple[_Map, ...], graph: GraphConfig) -> None:
        self.correspondences, self.maps, self.config = correspondences, maps, maps[0].config
        self.accuracy = graph.coarse_accuracy
        self.agreeing = np.empty(len(correspondences))  # share of the nearby members that agree
        self.is_tested = np.zeros(len(correspondences), bool)

    def find(self, members: Ints, others: Ints) -> Ints:
        """Find those of `others` (q,) that join the members (n,).

        They are within reach, and agree with the neighbours and both smooth maps.
        """
        if len(members) <= MIN_MEMBERS:
            return others[:0]
        for map_ in self.maps:
            others = others[is_in_box(map_.x[others], map_.x[members], self.config.reach)]
        for map_ in self.maps:
            renewed = map_.set_members(members, others)
            self.is_tested[others[renewed]] = False
            others = others[map_.near.square[others, 0] < self.config.reach**2]
        # The neighbours are compared before the maps, because that is cheap and few matches agree.
        others = others[self._measure_agreement(others) >= self.config.agreeing]
        for map_ in self.maps:
            residual, deviation = map_.predict(others)
            others = others[residual < self.config.tolerance * deviation]
        return others

    def _measure_agreement(self, rows: Ints) -> Floats:
        """The share of the nearby members with which each of the rows (q,) agrees -> (q,)."""
        new = rows[~self.is_tested[rows]]
        near = np.hstack([map_.near.index[new] for map_ in self.maps])
        self.agreeing[new] = measure_agreeing_shares(self.correspondences, new, near, *self.accuracy)
        self.is_tested[new] = True
        return self.agreeing[rows]


def spline_residuals(
    x: Array,
    y: Array,
    near: Array,
    smoothing: float,
    points: tuple[Array, Array] | None = None,
) -> tuple[Floats, Floats]:
    """Distances of matches from where the smooth map of their neighbours takes them.

    points: both ends of the matches, a pair of (q, 2), by default x and y; near (q, k): their neighbours,
    rows of x, y (n, 2).

    The spline is f(p) = sum_j c_j phi(|p - x_j|) plus an affine map, phi(r) = r^2 log r, with f(x_j) +
    smoothing c_j = y_j. Returns residual (q,), deviation (q,).
    """
    from_, to = (x, y) if points is None else points
    near = np.ascontiguousarray(near)
    residual, deviation = np.empty(len(near)), np.empty(len(near))

    def measure(start: int, stop: int) -> None:
        rows = slice(start, stop)
        matches = near[rows], from_[rows], to[rows]
        _kernels.spline_residuals(x, y, *matches, float(smoothing), residual[rows], deviation[rows])

    run_in_ranges(measure, len(near), 512)
    return residual, deviation
