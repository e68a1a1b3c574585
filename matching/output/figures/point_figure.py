"""The figure of matches without pictures: the points in both images, each group in a different colour."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from matching._common.types import Floats
from matching.output.figures.drawing import colour
from matching.output.words import count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from matching.matches import Matches

MARKERS = "osD^vP*Xp"  # used in turn, so that consecutive groups also differ in shape
OUTLIER = "#a0a0a0"
LEGEND: dict[str, Any] = {"ncols": 6, "frameon": False, "fontsize": "small"}
PANEL = 6  # width of an image in the figure, inches
LISTED = 24  # groups in the legend
MARGIN = 0.04  # space around the points, as a share of their range, if the size of the image is unknown


def draw_points(
    result: Matches,
    names: tuple[str, str] = ("image 0", "image 1"),
    sizes: tuple[tuple[int, int], tuple[int, int]] | None = None,
) -> bytes:
    """Draw the matched points of both images side by side, outliers in grey."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    limits = [
        _limits(xy, None if sizes is None else sizes[k]) for k, xy in enumerate((result.xy0, result.xy1))
    ]
    tallest = max((bottom - top) / (right - left) for left, right, top, bottom in limits)
    height = np.clip(tallest * PANEL, 0.4 * PANEL, 1.5 * PANEL) + 1
    figure = Figure(figsize=(2 * PANEL, height), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    for k, (axes, xy) in enumerate(zip(figure.subplots(1, 2), (result.xy0, result.xy1), strict=True)):
        _draw_panel(axes, xy, result)
        left, right, top, bottom = limits[k]
        axes.set(
            title=names[k],
            xlabel=f"x in image {k} (pixels)",
            ylabel=f"y in image {k} (pixels)",
            xlim=(left, right),
            ylim=(bottom, top),
            aspect="equal",
        )
    if not result.objects:
        figure.suptitle("no common object")
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        n = len(result.objects)
        title = f"{LISTED} of {n} objects" if n > LISTED else None
        figure.legend(handles, labels, title=title, loc="upper center", bbox_to_anchor=(0.5, 0), **LEGEND)
    buffer = io.BytesIO()
    no_version = {"Software": None}  # equal results give equal bytes
    figure.savefig(buffer, format="png", bbox_inches="tight", metadata=no_version)
    return buffer.getvalue()


def _draw_panel(axes: Axes, xy: Floats, result: Matches) -> None:
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
    for found in result.objects:
        middle = np.median(xy[result.cluster == found.id], axis=0)
        box = {"boxstyle": "round,pad=0.2", "fc": "white", "ec": "#303030", "lw": 0.6, "alpha": 0.85}
        axes.annotate(str(found.id), middle, ha="center", va="center", fontsize="small", bbox=box)


def _limits(xy: Floats, size: tuple[int, int] | None) -> tuple[float, float, float, float]:
    """Left, right, top, bottom; the image begins half a pixel before the centre of its first pixel."""
    if size is not None:
        return -0.5, size[1] - 0.5, -0.5, size[0] - 0.5
    if len(xy) == 0:
        return 0.0, 1.0, 0.0, 1.0
    low, high = xy.min(axis=0), xy.max(axis=0)
    margin = MARGIN * max(float((high - low).max()), 1.0)
    return low[0] - margin, high[0] + margin, low[1] - margin, high[1] + margin
