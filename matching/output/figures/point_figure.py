"""The figure of matches without pictures: the points in both images, each group in a different colour."""

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from matching._common.types import Floats
from matching.core.result import MatchResult
from matching.output.figures.drawing import colour
from matching.output.words import NOTHING, count
from matching.pictures.images import NamedImage, Picture

Limits = tuple[float, float]

MARKERS = "osD^vP*Xp"  # used in turn, so that consecutive groups also differ in shape
OUTLIER_COLOUR = "#a0a0a0"
LEGEND: dict[str, Any] = {"ncols": 6, "frameon": False, "fontsize": "small"}
PANEL_WIDTH = 6  # of an image in the figure, inches
MAX_LEGEND = 24  # objects in the legend
MARGIN = 0.04  # space around the points, as a share of their range, if the size of the image is unknown


def draw_points(result: MatchResult, images: Sequence[Picture | NamedImage]) -> bytes:
    """Draw the matched points of both images side by side, outliers in grey."""
    points = result.xy0, result.xy1
    limits = [_limits(xy, im.width, im.height) for xy, im in zip(points, images, strict=True)]
    tallest = max(np.ptp(y_limits) / np.ptp(x_limits) for x_limits, y_limits in limits)
    height = np.clip(tallest * PANEL_WIDTH, 0.4 * PANEL_WIDTH, 1.5 * PANEL_WIDTH) + 1
    figure = Figure(figsize=(2 * PANEL_WIDTH, height), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    for k, axes in enumerate(figure.subplots(1, 2)):
        _draw_panel(axes, points[k], result)
        axes.set(title=images[k].path or f"image {k}", xlim=limits[k][0], ylim=limits[k][1], aspect="equal")
        axes.set(xlabel=f"x in image {k} (pixels)", ylabel=f"y in image {k} (pixels)")
    if not result.objects:
        figure.suptitle(NOTHING)
    handles, names = axes.get_legend_handles_labels()
    if handles:
        n = len(result.objects)
        title = f"{MAX_LEGEND} of {n} objects" if n > MAX_LEGEND else None
        figure.legend(handles, names, title=title, loc="upper center", bbox_to_anchor=(0.5, 0), **LEGEND)
    buffer = io.BytesIO()
    no_version = {"Software": None}  # equal results give equal bytes
    figure.savefig(buffer, format="png", bbox_inches="tight", metadata=no_version)
    return buffer.getvalue()


def _draw_panel(axes: Axes, xy: Floats, result: MatchResult) -> None:
    """Draw the points (n, 2) of one image."""
    area = float(np.clip(12_000 / max(len(xy), 1), 3, 30))  # area of a marker, points squared
    outliers = xy[result.cluster < 0]
    if len(outliers):
        name = f"outliers: {count(len(outliers), 'match', 'matches')}"
        x, y = outliers.T
        axes.scatter(x, y, s=area / 2, c=OUTLIER_COLOUR, marker="o", lw=0, label=name)
    for found in result.objects:
        points = xy[result.cluster == found.id]
        marker, tint = MARKERS[found.id % len(MARKERS)], np.array(colour(found.id)) / 255
        name = f"object {found.id}: {count(len(points), 'match', 'matches')}"
        label = name if found.id < MAX_LEGEND else None
        x, y = points.T
        axes.scatter(x, y, s=area, color=tint, marker=marker, lw=0.4, ec="#303030", label=label)
    for found in result.objects:  # after all points, which would hide the numbers
        middle = np.median(xy[result.cluster == found.id], axis=0)
        box = {"boxstyle": "round,pad=0.2", "fc": "white", "ec": "#303030", "lw": 0.6, "alpha": 0.85}
        axes.annotate(str(found.id), middle, ha="center", va="center", fontsize="small", bbox=box)


def _limits(xy: Floats, width: int | None, height: int | None) -> tuple[Limits, Limits]:
    """Find the limits of x, and of y from bottom to top; an image begins half a pixel before the origin."""
    if width is not None and height is not None:
        return (-0.5, width - 0.5), (height - 0.5, -0.5)
    low, high = (xy.min(axis=0), xy.max(axis=0)) if len(xy) else (np.zeros(2), np.ones(2))
    margin = MARGIN * max(float((high - low).max()), 1.0)
    return (low[0] - margin, high[0] + margin), (high[1] + margin, low[1] - margin)
