"""How likely a window shows another print, learned from the pair itself.

z is Fisher's transform of the correlation of a window in place, and c its contrast, in three classes:

    L(z, c) = ln f1(z | c) - ln f0(z | c).

f1, another print: windows of the base against places of the other picture a third of the object away.
f0, the same print: the windows in place. Most of them show the same print, so only their median and their
spread below it count, and a small share of them may be anything, as light and bends leave some behind.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from matching._common.types import Floats
from matching.agreement.grid import Grid
from matching.agreement.windows import (
    MIN_VARIANCE_RATIO,
    STRICT_REACH,
    WINDOW,
    Windows,
    bound,
    correlate_moved,
    measure_windows,
    to_z,
)

N_CLASSES = 3  # of contrast, equally large: faint print correlates less, whether it is the same or not
STRAY_SHARE = 0.05  # of the windows of the same print that may have any correlation
STRAY_DENSITY = 1 / 2.5  # per unit of z, which spans about this much
CHANCE_DENSITY = 1e-6  # per unit of z: no correlation excludes another print
MIN_SPREAD = 0.08  # of z: prints without noise would make any deviation incredible
Z_LIMITS = (-0.5, 0.995)  # of correlations, as z is infinite at 1
MIN_PIXELS, MIN_DISPLACED = 200, 100  # with fewer windows, nothing can be learned
MIN_CLASS = 30  # windows of a class; with fewer, all windows stand for it
# Nats of a window where only one picture has print, as where a label covers a plain ground. With it, 178 of
# 191 altered prints are told, without it 170; at 2.0, 177.
LONE_RATIO = 1.0
# Nats in independent windows: a place with another print. At 9 and 13, one of 189 true copies has such a
# place; of 191 altered prints, four fewer are told at 13.
MIN_EVIDENCE = 9.0


def learn(grid: Grid, windows: Windows) -> Model | None:
    """Learn how windows of the same and of another print correlate; None from too few windows."""
    use = windows.comparable & grid.hull
    if use.sum() < MIN_PIXELS:
        return None
    z_other, contrast_other = _correlate_elsewhere(grid, windows)
    if len(z_other) < MIN_DISPLACED:
        return None
    z, contrast = to_z(windows.strict, *Z_LIMITS), np.log(windows.variance + 1)
    edges = np.quantile(contrast[use], np.linspace(0, 1, N_CLASSES + 1))
    same = _measure_spread(z[use], contrast[use], edges)
    return Model(edges, same, _measure_spread(z_other, contrast_other, edges))


def weigh_windows(windows: Windows, model: Model | None) -> Floats:
    """The log likelihood ratio of another print to the same one (h, w), nats; 0 where it was not measured.

    The map may be another one of the same object than the model was learned on.
    """
    if model is None:
        return np.zeros(windows.seen.shape)
    z, contrast = to_z(windows.strict, *Z_LIMITS), np.log(windows.variance + 1)
    return np.where(windows.comparable, model.ratio(z, contrast), np.where(windows.lone, LONE_RATIO, 0))


@dataclass(frozen=True, eq=False)
class Model:
    """How windows of the same and of another print correlate.

    edges (n + 1,) of the classes of contrast; same, other (n, 3): median, spread below and above it.
    """

    edges: Floats
    same: Floats
    other: Floats

    def ratio(self, z: Floats, contrast: Floats) -> Floats:
        """L(z, c); deviations that speak for neither print don't count."""
        middles = (self.edges[1:] + self.edges[:-1]) / 2
        same, below, _ = (np.interp(contrast, middles, column) for column in self.same.T)
        other, _, above = (np.interp(contrast, middles, column) for column in self.other.T)
        f0 = (1 - STRAY_SHARE) * _bell(np.minimum(z - same, 0), below) + STRAY_SHARE * STRAY_DENSITY
        f1 = _bell(np.maximum(z - other, 0), above) + CHANCE_DENSITY
        return np.asarray(np.log(f1) - np.log(f0))


def _bell(deviation: Floats, spread: Floats) -> Floats:
    return np.asarray(np.exp(-0.5 * (deviation / spread) ** 2) / spread)


def _measure_spread(z: Floats, contrast: Floats, edges: Floats) -> Floats:
    """(n_classes, 3): the median of z, and its spread below and above it, by contrast."""
    rows = []
    for low, high in pairwise(edges):
        members = z[(contrast >= low) & (contrast <= high)]
        first, median, third = np.quantile(members if len(members) >= MIN_CLASS else z, [0.25, 0.5, 0.75])
        # 0.674: quartiles of a normal distribution, in standard deviations
        rows.append(
            (median, max((median - first) / 0.674, MIN_SPREAD), max((third - median) / 0.674, MIN_SPREAD))
        )
    return np.array(rows)


def _correlate_elsewhere(grid: Grid, windows: Windows) -> tuple[Floats, Floats]:
    """z of windows of the base with places a third of the object away (n,), and their contrasts (n,)."""
    part = bound(grid.hull)
    here, there = (
        (grey[part] - grey.mean(), *measure_windows(grey[part] - grey.mean()))
        for grey in (grid.grey0, grid.grey1)
    )
    use = (windows.comparable & grid.hull)[part]
    down, across = (max(n // 3, WINDOW) for n in use.shape)
    found, contrasts = [], []
    for shift in ((down, 0), (0, across), (down, across), (-down, across)):
        grey, mean, variance = (np.roll(values, shift, (0, 1)) for values in there)
        low, high = np.minimum(here[2], variance), np.maximum(here[2], variance)
        is_used = use & np.roll(use, shift, (0, 1)) & (low > MIN_VARIANCE_RATIO * high)
        found.append(to_z(correlate_moved(here, (grey, mean, variance), STRICT_REACH)[is_used], *Z_LIMITS))
        contrasts.append(np.log(low[is_used] + 1))
    return np.concatenate(found), np.concatenate(contrasts)
