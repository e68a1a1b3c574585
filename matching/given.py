"""Matches from anywhere, grouped into objects.

The lengths that the grouping counts in are pixels of a working size. Given points may count anything, so each
picture gets a unit of its own: the median distance of the points from their middle.
"""

from __future__ import annotations

import time

import numpy as np

from matching.config import MatchConfig, check_config
from matching.errors import InputError
from matching.grouping import Correspondences, Groups, group
from matching.grouping.local_maps import nearest_in_both, vote_for_maps
from matching.objects.description import with_things
from matching.objects.things import things_of_pair
from matching.pipeline import describe_objects
from matching.result import MatchResult
from matching.threads import default_threads

SPREAD = 160.0  # working pixels from the middle of the points to half of them: a picture of 400 x 400
GRID = 2.0**-20  # working pixels: what rounding leaves of a turn or a change of unit is smaller
VOTERS = 8  # neighbours that choose a map


def group_matches(
    xy0, xy1, *, frames0=None, frames1=None, sizes=None, score=None, config: MatchConfig = MatchConfig()
) -> MatchResult:
    """Group matches that come from elsewhere into the objects that both pictures show.

    Parameters
    ----------
    xy0, xy1 : (n, 2) array_like
        The places of each match in picture 0 and 1, in any unit. A keypoint may stand in several matches.
    frames0, frames1 : (n, 2, 2) array_like, optional
        The linear part of the map from a feature's normal patch to the picture, of either end of each match:
        what the size, the direction and the shape of the keypoints tell. Both or none.
    sizes : ((h0, w0), (h1, w1)), optional
        Of the pictures, in the unit of the points.
    score : (n,) array_like, optional
        Smaller is better, as in `MatchResult`.
    config : MatchConfig

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
    xy0, xy1, maps, score = _checked(xy0, xy1, frames0, frames1, sizes, score)
    labels, scores, unit1 = np.full(len(xy0), -1, np.int64), np.empty(0), 1.0
    if len(xy0) >= 2:
        labels, scores, unit1 = _group(xy0, xy1, maps, sizes, score, config)
    grouped = time.perf_counter()
    tolerance = config.graph.scale * unit1
    boxes = [_box(xy, None if sizes is None else sizes[k]) for k, xy in enumerate((xy0, xy1))]
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


def _group(xy0, xy1, maps, sizes, score, config):
    """Labels (n,), the objects' scores, and how much of the given unit of picture 1 a working pixel is."""
    units = [_unit(xy, None if sizes is None else sizes[k]) for k, xy in enumerate((xy0, xy1))]
    x0, x1 = (_on_grid(xy, unit) for xy, unit in zip((xy0, xy1), units, strict=True))
    swapped = np.sort(x0, axis=0).tobytes() > np.sort(x1, axis=0).tobytes()
    if maps is not None:
        maps = maps * (units[0] / units[1])
    if swapped:
        x0, x1 = x1, x0
        maps = None if maps is None else np.linalg.inv(maps)
    order = np.lexsort((score, *np.hstack([x0, x1]).T))
    first = np.ones(len(order), bool)
    places = np.hstack([x0, x1])[order]
    first[1:] = (places[1:] != places[:-1]).any(axis=1)
    rows = order[first]
    x0, x1 = x0[rows], x1[rows]
    found = Groups(np.full(len(rows), -1, np.int64), np.empty(0))
    if len(rows) >= 2:
        if maps is None:
            near = nearest_in_both(x0, x1, VOTERS, default_threads())
            own = vote_for_maps(x0, x1, near, config.graph.scale, config.graph.slope)
        else:
            own = maps[rows]
        found = group(Correspondences(x0, x1, own), len(rows), config, default_threads())
    labels = np.empty(len(order), np.int64)
    labels[order] = found.labels[np.cumsum(first) - 1]
    return labels, found.scores, units[1]


def _unit(xy, size):
    """How much of the given unit a working pixel is."""
    if size is not None:
        return float(np.sqrt(size[0] * size[1])) * 0.4 / SPREAD
    far = np.linalg.norm(xy - _middle(xy), axis=1)
    half = np.median(far)
    if half == 0:
        half = far.max()
    return float(half) / SPREAD if half > 0 else 1.0


def _middle(xy):
    """The geometric median, by Weiszfeld's iteration: far points hardly move it, and it turns with them."""
    middle = xy.mean(axis=0)
    for _ in range(50):
        far = np.linalg.norm(xy - middle, axis=1)
        w = 1 / np.maximum(far, 1e-9 * max(far.max(), 1e-300))
        middle = w @ xy / w.sum()
    return middle


def _on_grid(xy, unit):
    x = (xy - _middle(xy)) / unit
    return np.rint(x / GRID) * GRID + 0.0


def _checked(xy0, xy1, frames0, frames1, sizes, score):
    """The points, the maps that frames predict or None, and the scores."""
    xy0, xy1 = _numbers("xy0", xy0, (2,)), _numbers("xy1", xy1, (2,))
    n = len(xy0)
    if len(xy1) != n:
        raise InputError(f"xy1 must have as many rows as xy0, {n}, got {len(xy1)}")
    if (frames0 is None) != (frames1 is None):
        name = "frames0" if frames0 is None else "frames1"
        raise InputError(f"{name} must be given where the other one is, got None")
    maps = None
    if frames0 is not None:
        frames = [_numbers(f"frames{k}", f, (2, 2), n) for k, f in enumerate((frames0, frames1))]
        for k, f in enumerate(frames):
            singular = np.flatnonzero(np.linalg.det(f) == 0)
            if len(singular):
                raise InputError(
                    f"frames{k} must be invertible, got {f[singular[0]].tolist()} in row {singular[0]}"
                )
        maps = frames[1] @ np.linalg.inv(frames[0])
    if sizes is not None:
        s = np.asarray(sizes, float)
        if s.shape != (2, 2) or not (np.isfinite(s) & (s > 0)).all():
            raise InputError(f"sizes must be ((h0, w0), (h1, w1)), positive numbers, got {sizes}")
    score = np.zeros(n) if score is None else _numbers("score", score, (), n)
    return xy0, xy1, maps, score


def _numbers(name, values, shape, n=None):
    """A float64 array (n, *shape) of finite numbers."""
    try:
        a = np.array(values, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be an array of numbers, got {type(values).__name__}") from None
    if a.size == 0 and n in (None, 0):
        return a.reshape(0, *shape)
    if a.shape[1:] != shape or a.ndim != 1 + len(shape) or (n is not None and len(a) != n):
        wanted = ", ".join(["n" if n is None else str(n), *map(str, shape)])
        raise InputError(f"{name} must have shape ({wanted}), got {a.shape}")
    bad = np.flatnonzero(~np.isfinite(a).reshape(len(a), -1).all(axis=1))
    if len(bad):
        raise InputError(f"{name} must hold finite numbers, got {a[bad[0]].tolist()} in row {bad[0]}")
    return a
