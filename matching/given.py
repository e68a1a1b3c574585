"""Matches from anywhere, grouped into objects: the same stages as the program's own candidates go through.

Given points may count anything, come from pictures of any size and be few or many. So lengths are taken from
the points. First, each picture gets a unit of its own, how far its points spread. Then the working unit is
chosen by the matches that agree with their neighbours: so that these are as far apart as the grouping expects
them, and no less accurate.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from matching.config import MatchConfig, check_config
from matching.correspondences.candidates import CandidateConfig
from matching.correspondences.correspondences import Correspondences
from matching.correspondences.distances import nearest_among
from matching.errors import InputError
from matching.grouping import Groups, group
from matching.grouping.clustering import cluster_graph
from matching.grouping.local_maps import better_of, vote_for_maps
from matching.objects.description import with_things
from matching.objects.things import things_of_pair
from matching.pipeline import describe_objects
from matching.result import MatchResult
from matching.threads import default_threads

GRID = 2.0**-24  # of the spread: coarser than what rounding leaves of another unit or of a turn
VOTERS = 8  # neighbours that choose the map around a match
FLOOR, SLOPE = 0.005, 0.2  # sigma of the votes: of the spread; of the gap
LEAST_SAMPLE = 100  # matches among which voters are looked for
AGREEING = 0.6  # share of its neighbours that a match must agree with, to tell the working unit, ...
LEAST_MATCHES = 8  # ... of at least so many matches; the least of an object among few, too
SPACING = 14.0  # working pixels from such a match to the farthest of its VOTERS, or ...
RESIDUAL = 0.8  # ... between it and its neighbours, in the median: the larger unit is taken
LEAST_UNIT = 1 / 2000  # of the spread
CANDIDATES = 64  # matches among which neighbours are chosen, for a time that grows with their number
RISE, MOST_RISE = (
    30.0,
    1e4,
)  # of `min_affinity` for n matches: RISE (length of the program's own list / n)^1.5


@dataclass(frozen=True, eq=False)
class _Matches:
    """Given matches, in units of the spread of either picture, each place once and in an order that does not
    depend on the order given; `row` (n,) is where each given match is among them.
    """

    xy0: np.ndarray
    xy1: np.ndarray
    maps: np.ndarray | None
    row: np.ndarray


def group_matches(
    xy0, xy1, *, frames0=None, frames1=None, sizes=None, score=None, config: MatchConfig = MatchConfig()
) -> MatchResult:
    """Group matches that come from elsewhere into the objects that both pictures show.

    Parameters
    ----------
    xy0, xy1 : (n, 2) array_like
        The places of each match in picture 0 and 1, in any unit. A keypoint may stand in several matches.
    frames0, frames1 : (n, 2, 2) array_like, optional
        Both or none: what the size, the direction and the shape of the keypoints of each match tell. A frame
        takes a keypoint's own normal coordinates to the picture, so that F1 F0^-1 takes the surroundings of
        the match from picture 0 to picture 1; [[s, 0], [0, s]] for a keypoint of size s without direction.
    sizes : ((h0, w0), (h1, w1)), optional
        Of the pictures, in the unit of the points.
    score : (n,) array_like, optional
        Smaller is better, as in `MatchResult`: of several matches at the same two places the best one's
        frames count.
    config : MatchConfig
        Of which `graph`, `clustering`, `smooth_map`, `suppression` and `objects` count. Its lengths are
        working pixels, see `matching.given`.

    Returns
    -------
    MatchResult
        A row a match, in the order given.

    Raises
    ------
    InputError
        A ValueError: an array has the wrong shape, or holds what is no finite number.
    """
    check_config(config)
    start = time.perf_counter()
    xy0, xy1, maps, sizes, score = _checked(xy0, xy1, frames0, frames1, sizes, score)
    labels, scores, unit1 = np.full(len(xy0), -1, np.int64), np.empty(0), 1.0
    if len(xy0):
        labels, scores, unit1 = label_matches(xy0, xy1, maps, sizes, score, config)
    grouped = time.perf_counter()
    tolerance = config.graph.scale * unit1
    boxes = [_box(xy, size) for xy, size in zip((xy0, xy1), sizes, strict=True)]
    objects = describe_objects(xy0, xy1, Groups(labels, scores), tolerance, boxes)
    things = things_of_pair([o.outline0 for o in objects], [o.outline1 for o in objects])
    timings = {"grouping": grouped - start, "objects": time.perf_counter() - grouped}
    return MatchResult(
        xy0, xy1, labels, score, with_things(objects, things), timings, config=config, things=things
    )


def _box(xy, size):
    """(2, 2) least and greatest x and y of a picture (h, w), or of all points where its size is not known."""
    if size is not None:
        return np.array([[0.0, 0.0], size[::-1]]) - 0.5
    return np.array([xy.min(axis=0), xy.max(axis=0)]) if len(xy) else None


def label_matches(
    xy0: np.ndarray,
    xy1: np.ndarray,
    maps: np.ndarray | None = None,
    sizes=(None, None),
    score: np.ndarray | None = None,
    config: MatchConfig = MatchConfig(),
    cluster=cluster_graph,
) -> tuple[np.ndarray, np.ndarray, float]:
    """The grouping of `group_matches`, of input that is known to be good.

    Parameters
    ----------
    xy0, xy1 : (n, 2) float64
        n >= 1.
    maps : (n, 2, 2) float64, optional
        What the frames predict.
    sizes : pair of (h, w) or None
    score : (n,) float64, optional
    config : MatchConfig
    cluster : callable
        Another method in place of graph degree linkage, as in `matching.grouping.group`.

    Returns
    -------
    labels : (n,) int64
    scores : (n_objects,) float64
    unit1 : float
        How much of the unit of xy1 a working pixel is.
    """
    spreads = [_spread(xy, size) for xy, size in zip((xy0, xy1), sizes, strict=True)]
    places = [_on_grid(xy, spread) for xy, spread in zip((xy0, xy1), spreads, strict=True)]
    maps = None if maps is None else maps * (spreads[0] / spreads[1])
    matches = _in_order(*places, maps, np.zeros(len(xy0)) if score is None else score)
    n = len(matches.xy0)
    found, unit = Groups(np.full(n, -1, np.int64), np.empty(0)), 1.0
    if n >= LEAST_MATCHES:
        correspondences, unit = _correspondences(matches)
        found = group(correspondences, n, _adapted(config, n), default_threads(), cluster)
    return found.labels[matches.row], found.scores, unit * spreads[1]


def _correspondences(matches):
    """The matches in working pixels, with the maps that their neighbours choose, and the working unit."""
    local = _local_maps(matches)
    agreeing = local.support > AGREEING
    if np.count_nonzero(agreeing) >= LEAST_MATCHES:
        spacing, residual = np.median(local.gap[agreeing]), np.median(local.residual[agreeing])
    else:  # nothing to be found, by all that the nearest neighbours tell
        spacing, residual = np.median(local.gap), 0.0
    unit = max(spacing / SPACING, residual / RESIDUAL, LEAST_UNIT)
    return Correspondences(matches.xy0 / unit, matches.xy1 / unit, local.maps), unit


def _local_maps(matches):
    """The LocalMaps of the matches: of the maps by the nearest of all matches, of a fourth of them, of a
    sixteenth and so on, the one that explains its neighbours best. Where matches are so dense that they are
    no farther apart than they are accurate, the nearest ones tell nothing.
    """
    xy0, xy1, own = matches.xy0, matches.xy1, matches.maps
    places = np.hstack([xy0, xy1])
    shuffled = np.random.default_rng(0).permutation(len(places))
    best, n = None, len(places)
    while best is None or n >= LEAST_SAMPLE:
        near = nearest_among(places, np.sort(shuffled[:n]), min(VOTERS, n - 1), default_threads())
        local = vote_for_maps(xy0, xy1, near, FLOOR, SLOPE, own)
        best = local if best is None else better_of(best, local)
        n //= 4
    return best


def _adapted(config, n):
    """The settings for n given matches, where those for the program's own list depend on its length.

    Few matches mean small objects, and these merge at larger affinities: by the law of `ClusteringConfig`, up
    to what small ones have. Chance agreements of a given size are rarer among few matches.
    """
    rise = min(MOST_RISE, RISE * (CandidateConfig.max_matches / n) ** 1.5)
    clustering = replace(config.clustering, min_affinity=config.clustering.min_affinity * rise)
    least = min(config.objects.min_matches, max(LEAST_MATCHES, n // 8))
    return replace(
        config,
        graph=replace(config.graph, n_candidates=config.graph.n_candidates or CANDIDATES),
        clustering=clustering,
        smooth_map=replace(config.smooth_map, reach=config.smooth_map.reach / 2),
        suppression=replace(config.suppression, reach=config.suppression.reach / 2),
        objects=replace(config.objects, min_matches=least),
    )


def _in_order(x0, x1, maps, score):
    """The _Matches at places x0, x1 (n, 2). Swapped pictures give the same, by a rule of their own."""
    if np.sort(x0, axis=0).tobytes() > np.sort(x1, axis=0).tobytes():
        x0, x1, maps = x1, x0, None if maps is None else np.linalg.inv(maps)
    places = np.hstack([x0, x1])
    order = np.lexsort((score, *places.T))
    new = np.ones(len(order), bool)
    new[1:] = (places[order[1:]] != places[order[:-1]]).any(axis=1)
    row = np.empty(len(order), np.int64)
    row[order] = np.cumsum(new) - 1
    first = order[new]
    return _Matches(x0[first], x1[first], None if maps is None else maps[first], row)


def _spread(xy, size):
    """How far half of the points are from their middle, or would be all over a picture of that size."""
    if size is not None:
        return 0.4 * float(np.sqrt(size[0] * size[1]))
    far = np.linalg.norm(xy - _middle(xy), axis=1)
    half = float(np.median(far))
    return half if half > 0 else float(far.max()) or 1.0


def _middle(xy):
    """The geometric median, by Weiszfeld's iteration: far points hardly move it, and it turns with them."""
    middle = xy.mean(axis=0)
    for _ in range(50):
        far = np.linalg.norm(xy - middle, axis=1)
        if not far.max() > 0:
            break
        weight = 1 / np.maximum(far, 1e-9 * far.max())
        middle = weight @ xy / weight.sum()
    return middle


def _on_grid(xy, spread):
    return np.rint((xy - _middle(xy)) / spread / GRID) * GRID + 0.0  # no -0.0


def _checked(xy0, xy1, frames0, frames1, sizes, score):
    """The points, the maps that frames predict or None, sizes (a pair, of None where not given), scores."""
    xy0, xy1 = _numbers("xy0", xy0, (2,)), _numbers("xy1", xy1, (2,))
    n = len(xy0)
    if len(xy1) != n:
        raise InputError(f"xy1 must have as many rows as xy0, {n}, got {len(xy1)}")
    if (frames0 is None) != (frames1 is None):
        name = "frames0" if frames0 is None else "frames1"
        raise InputError(f"{name} must be given where the other one is, got None")
    maps = None
    if frames0 is not None:
        frames = _frames("frames0", frames0, n), _frames("frames1", frames1, n)
        maps = frames[1] @ np.linalg.inv(frames[0])
    if sizes is None:
        sizes = (None, None)
    else:
        sizes = _numbers("sizes", sizes, (2,), 2)
        if not (sizes > 0).all():
            raise InputError(f"sizes must be positive numbers ((h0, w0), (h1, w1)), got {sizes.tolist()}")
    score = np.zeros(n) if score is None else _numbers("score", score, (), n)
    return xy0, xy1, maps, sizes, score


def _frames(name, values, n):
    """A float64 array (n, 2, 2) of invertible matrices."""
    frames = _numbers(name, values, (2, 2), n)
    flat = np.flatnonzero(np.linalg.cond(frames) > 1e6) if n else []
    if len(flat):
        raise InputError(f"{name} must be invertible, got {frames[flat[0]].tolist()} in row {flat[0]}")
    return frames


def _numbers(name, values, shape, n=None):
    """A float64 array (n, *shape) of finite numbers."""
    try:
        array = np.array(values, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be an array of numbers, got {type(values).__name__}") from None
    if array.size == 0 and array.ndim <= 1 + len(shape) and not n:
        return array.reshape(0, *shape)
    if array.shape[1:] != shape or array.ndim != 1 + len(shape) or (n is not None and len(array) != n):
        wanted = ", ".join(["n" if n is None else str(n), *map(str, shape)])
        raise InputError(f"{name} must have shape ({wanted}), got {array.shape}")
    bad = np.flatnonzero(~np.isfinite(array).reshape(len(array), -1).all(axis=1))
    if len(bad):
        raise InputError(f"{name} must hold finite numbers, got {array[bad[0]].tolist()} in row {bad[0]}")
    return array
