"""The figure of matches without pictures: the points in both images, each group in a different colour."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from matching._common.types import Floats
from matching.output.figures.drawing import colour
from matching.output.words import NOTHING, count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from matching.pictures.images import NamedImage, Picture
    from matching.result import MatchResult

Limits = tuple[float, float]

MARKERS = "osD^vP*Xp"  # used in turn, so that consecutive groups also differ in shape
OUTLIER = "#a0a0a0"
LEGEND: dict[str, Any] = {"ncols": 6, "frameon": False, "fontsize": "small"}
PANEL = 6  # width of an image in the figure, inches
LISTED = 24  # groups in the legend
MARGIN = 0.04  # space around the points, as a share of their range, if the size of the image is unknown


def draw_points(result: MatchResult, images: Sequence[Picture | NamedImage]) -> bytes:
    """Draw the matched points of both images side by side, outliers in grey."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    both = [
        (xy, *_limits(xy, im.width, im.height))
        for xy, im in zip((result.xy0, result.xy1), images, strict=True)
    ]
    tallest = max(np.ptp(y_limits) / np.ptp(x_limits) for _, x_limits, y_limits in both)
    height = np.clip(tallest * PANEL, 0.4 * PANEL, 1.5 * PANEL) + 1
    figure = Figure(figsize=(2 * PANEL, height), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    for k, (axes, (xy, x_limits, y_limits)) in enumerate(zip(figure.subplots(1, 2), both, strict=True)):
        _draw_panel(axes, xy, result)
        labels = {"xlabel": f"x in image {k} (pixels)", "ylabel": f"y in image {k} (pixels)"}
        axes.set(title=images[k].path or f"image {k}", **labels, xlim=x_limits, ylim=y_limits, aspect="equal")
    if not result.objects:
        figure.suptitle(NOTHING)
    handles, names = axes.get_legend_handles_labels()
    if handles:
        n = len(result.objects)
        title = f"{LISTED} of {n} objects" if n > LISTED else None
        figure.legend(handles, names, title=title, loc="upper center", bbox_to_anchor=(0.5, 0), **LEGEND)
    buffer = io.BytesIO()
    no_version = {"Software": None}  # equal results give equal bytes
    figure.savefig(buffer, format="png", bbox_inches="tight", metadata=no_version)
    return buffer.getvalue()


def _draw_panel(axes: Axes, xy: Floats, result: MatchResult) -> None:
    outliers = result.cluster < 0
    area = float(np.clip(12_000 / max(len(xy), 1), 3, 30))  # area of a marker, points squared
    if outliers.any():
        told = f"outliers: {count(int(outliers.sum()), 'match', 'matches')}"
        axes.scatter(xy[outliers, 0], xy[outliers, 1], s=area / 2, c=OUTLIER, marker="o", lw=0, label=told)
    for found in result.objects:
        own = xy[result.cluster == found.id]
        marker, tint = MARKERS[found.id % len(MARKERS)], np.array(colour(found.id)) / 255
        label = f"object {found.id}: {count(len(own), 'match', 'matches')}" if found.id < LISTED else None
        axes.scatter(
            own[:, 0], own[:, 1], s=area, color=tint, marker=marker, lw=0.4, ec="#303030", label=label
        )
    for found in result.objects:  # after all points, which would hide the numbers
        middle = np.median(xy[result.cluster == found.id], axis=0)
        box = {"boxstyle": "round,pad=0.2", "fc": "white", "ec": "#303030", "lw": 0.6, "alpha": 0.85}
        axes.annotate(str(found.id), middle, ha="center", va="center", fontsize="small", bbox=box)


def _limits(xy: Floats, width: int | None, height: int | None) -> tuple[Limits, Limits]:
    """Limits of x, and of y from bottom to top; an image begins half a pixel before its first centre."""
    if width is not None and height is not None:
        return (-0.5, width - 0.5), (height - 0.5, -0.5)
    low, high = (xy.min(axis=0), xy.max(axis=0)) if len(xy) else (np.zeros(2), np.ones(2))
    margin = MARGIN * max(float((high - low).max()), 1.0)
    return (low[0] - margin, high[0] + margin), (high[1] + margin, low[1] - margin)
