"""Figures of articles, with and without a panel or lane that is shown again somewhere else.

The panels of a figure are alike but different: parts of one sample, lanes of one blot, plots of one kind. All
have letters, scale bars or axes, which repeat in any figure and are no reuse.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
import skimage.data

from synth._types import Array, Floats, Picture

# Samples are pictures that scikit-image ships, by name and the side of a panel; in each, panels are disjoint.
SAMPLES = {
    "tissue": ("immunohistochemistry", 160),
    "cells": ("cell", 180),
    "surface": ("moon", 165),
    "stones": ("gravel", 165),
    "retina": ("retina", 200),
    "stars": ("hubble_deep_field", 200),
}
KINDS = (*SAMPLES, "photographs", "plots", "gel", "blot")
REUSES = "as it is", "mirrored", "turned by 90", "turned by 180", "smaller", "other contrast"
MARGIN, GAP = 30, 26  # pixels around and between panels
N_LANES, LANE, HEIGHT = 8, 90, 240  # of a gel or blot: lanes, and pixels of each


@dataclass(frozen=True, eq=False)
class Figure:
    """A figure, and what is reused in it.

    Parameters
    ----------
    picture : (h, w, 3) uint8
        RGB.
    place : (4,) float64 or None
        Left, top, right and bottom of what is shown again, pixels; None if nothing is.
    motion : (2, 3) float64 or None
        The map from this place to the other one.
    """

    picture: Picture
    place: Floats | None = None
    motion: Floats | None = None


def draw_figure(
    kind: str, reuse: str, photographs: Sequence[Picture], rng: np.random.Generator, *, quality: int = 0
) -> Figure:
    """Draw a figure.

    Parameters
    ----------
    kind : str
        One of KINDS.
    reuse : str
        One of REUSES, or "" for none. A lane that would be turned by 90 degrees is turned by 180.
    photographs : sequence of (h, w, 3) uint8
        Six or more; the panels of "photographs".
    rng : Generator
    quality : int
        Of JPEG, in which the figure is compressed; 0: not at all.

    Returns
    -------
    Figure
        With the place and the motion of what is reused.
    """
    is_lanes = kind in ("gel", "blot")
    if is_lanes:
        corners = np.array([(k * LANE, 0) for k in range(N_LANES)])
        picture, sides = _draw_lanes(rng, noise=1.5 if kind == "gel" else 0.0), (LANE, HEIGHT)
    else:
        panels = _choose_panels(kind, photographs, rng)
        side = len(panels[0])
        cells = np.array([(k % 3, k // 3) for k in range(6)])
        corners, sides = MARGIN + cells * (side + GAP), (side, side)
        picture = np.full((*(corners.max(axis=0) + side + MARGIN)[::-1], 3), 255, np.uint8)
        for panel, (x, y) in zip(panels, corners, strict=True):
            picture[y : y + side, x : x + side] = panel
    place = motion = None
    if reuse:
        place, motion = _reuse(picture, corners, sides, reuse, rng, whole=is_lanes or kind == "plots")
    if not is_lanes:
        _letter(picture, corners, sides[0], is_plot=kind == "plots")
    if quality:
        encoded = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, quality])[1]
        picture = np.asarray(cv2.imdecode(encoded, cv2.IMREAD_COLOR), np.uint8)
    return Figure(picture, place, motion)


def _reuse(
    picture: Picture,
    corners: np.ndarray,
    sides: tuple[int, int],
    reuse: str,
    rng: np.random.Generator,
    *,
    whole: bool,
) -> tuple[Floats, Floats]:
    """Show a part of a panel again in another one, in place -> its place, and the motion."""
    first, second = corners[rng.permutation(len(corners))[:2]]
    size = np.array(sides) if whole else (rng.uniform(0.65, 1.0) * np.array(sides)).astype(int)
    low = first + rng.integers(0, np.array(sides) - size + 1)
    width, height = size.tolist()
    x, y = low.tolist()
    part: Array = picture[y : y + height, x : x + width].copy()
    if reuse == "turned by 90" and whole:
        reuse = "turned by 180"
    linear = {
        "mirrored": np.diag([-1.0, 1.0]),
        "turned by 90": np.array([[0.0, -1.0], [1.0, 0.0]]),
        "turned by 180": -np.eye(2),
        "smaller": 0.8 * np.eye(2),
    }.get(reuse, np.eye(2))
    box = np.array([[0, 0], [width, height]]) @ linear.T
    target = np.ptp(box, axis=0).round().astype(int)
    offset = -box.min(axis=0)
    centre = linear @ [0.5, 0.5] + offset - 0.5  # pixel centres, not edges
    moved = np.column_stack([linear, centre])
    flags = cv2.INTER_AREA if reuse == "smaller" else cv2.INTER_LINEAR
    if reuse == "smaller":
        part = cv2.resize(part, target.tolist(), interpolation=flags)
    else:
        part = cv2.warpAffine(part, moved, target.tolist(), flags=cv2.INTER_NEAREST)
    if reuse == "other contrast":
        part = np.clip(
            (part - part.mean()) * rng.uniform(0.7, 0.9) + part.mean() + rng.uniform(-20, 20), 0, 255
        )
    to = second + rng.integers(0, np.maximum(np.array(sides) - target, 0) + 1)
    x, y = to.tolist()
    picture[y : y + target[1], x : x + target[0]] = part
    motion = np.column_stack([linear, centre + to - linear @ low])
    return np.concatenate([low, low + size]).astype(float), motion


def _choose_panels(kind: str, photographs: Sequence[Picture], rng: np.random.Generator) -> list[Picture]:
    """Six panels of the same size, disjoint parts of a sample, photographs, or plots."""
    if kind == "plots":
        return [_draw_plot(200, rng) for _ in range(6)]
    if kind == "photographs":
        chosen = [photographs[k] for k in rng.permutation(len(photographs))[:6]]
        return [_cut(photograph, 190, rng) for photograph in chosen]
    name, side = SAMPLES[kind]
    sample = getattr(skimage.data, name)()
    sample = sample if sample.ndim == 3 else np.dstack([sample] * 3)
    rows, columns = (n // side for n in sample.shape[:2])
    if name == "retina":  # its corners are black
        cells = [(r, c) for r in range(1, rows - 1) for c in range(1, columns - 1)]
    else:
        cells = [(r, c) for r in range(rows) for c in range(columns)]
    low = rng.integers(0, np.array(sample.shape[:2]) - side * np.array([rows, columns]) + 1)
    chosen = [np.array(cells[k]) * side + low for k in rng.permutation(len(cells))[:6]]
    return [sample[y : y + side, x : x + side] for y, x in chosen]


def _cut(photograph: Picture, side: int, rng: np.random.Generator) -> Picture:
    """A square of a photograph."""
    factor = max(1.3 * side / min(photograph.shape[:2]), 0.5)
    small = cv2.resize(photograph, None, fx=factor, fy=factor, interpolation=cv2.INTER_AREA)
    y, x = rng.integers(0, np.array(small.shape[:2]) - side + 1)
    return np.asarray(small[y : y + side, x : x + side], np.uint8)


def _draw_plot(side: int, rng: np.random.Generator) -> Picture:
    """A cloud of dots, as of a cytometer."""
    plot = np.full((side, side, 3), 255, np.uint8)
    clouds = [
        rng.multivariate_normal(rng.uniform(0.3, 0.7, 2) * side, np.diag(rng.uniform(60, 500, 2)), 150)
        for _ in range(2)
    ]
    for x, y in np.concatenate(clouds).clip(4, side - 5):
        cv2.circle(plot, (round(x * 16), round(y * 16)), 24, (40, 60, 160), -1, cv2.LINE_AA, 4)
    return plot


def _letter(picture: Picture, corners: np.ndarray, side: int, *, is_plot: bool) -> None:
    """Draw letters, and scale bars or axes with numbers, in place."""
    font, dark = cv2.FONT_HERSHEY_SIMPLEX, (20, 20, 20)
    for k, (x, y) in enumerate(corners.tolist()):
        cv2.putText(picture, "ABCDEF"[k], (x - 2, y - 6), font, 0.7, dark, 2, cv2.LINE_AA)
        if is_plot:
            cv2.rectangle(picture, (x, y), (x + side, y + side), dark, 1)
            for n in range(5):
                at = x + n * side // 4, y + side
                cv2.line(picture, at, (at[0], at[1] + 4), dark, 1)
                cv2.putText(picture, str(n * 25), (at[0] - 6, at[1] + 15), font, 0.3, dark, 1, cv2.LINE_AA)
        else:
            low = x + side - 60, y + side - 14
            cv2.rectangle(picture, low, (low[0] + 50, low[1] + 5), (255, 255, 255), -1)
            cv2.putText(
                picture, "50 um", (low[0] + 6, low[1] - 5), font, 0.4, (255, 255, 255), 1, cv2.LINE_AA
            )


def _draw_lanes(rng: np.random.Generator, noise: float) -> Picture:
    """Lanes with three bands each, of different darkness, width, tilt and blur."""
    ground = np.full((HEIGHT, N_LANES * LANE), rng.uniform(195, 215))
    y, x = np.indices(ground.shape, float)
    for lane in range(N_LANES):
        for row in range(3):
            u = x - (lane + 0.5) * LANE - rng.normal(0, 1.5)
            v = y - 72 - 60 * row - rng.normal(0, 1) - rng.normal(0, 0.02) * u - rng.normal(0, 0.003) * u * u
            half, thick = rng.uniform(18, 27), rng.uniform(3, 6)
            edge = 1 / (1 + np.exp((np.abs(u) - half) / rng.uniform(2, 4)))
            ground -= rng.uniform(40, 170) * edge * np.exp(-0.5 * (v / thick) ** 2)
    if noise:
        ground += cv2.GaussianBlur(rng.normal(0, 4 * noise, ground.shape), (0, 0), 1.2)
        ground += cv2.GaussianBlur(rng.normal(0, 60 * noise, ground.shape), (0, 0), 12)
    grey = np.clip(ground, 0, 255).round().astype(np.uint8)
    return np.asarray(cv2.cvtColor(grey, cv2.COLOR_GRAY2RGB), np.uint8)
