"""The figure of the clusterer's benchmarks: seconds against the number of samples."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from eval.clustering.rivals import MERGING, METHODS, PAPER, WHOLE, curves

# Okabe and Ito's palette; our methods in the strongest colours
_STYLE = {
    "gdl": ("#000000", "s", "-"),
    "gdl-u": ("#d55e00", "o", "-"),
    "agdl": ("#e69f00", "v", "-"),
    "leiden": ("#0072b2", "D", "-"),
    "GDL-U, authors": ("#cc79a7", "^", "none"),
    "AGDL, authors": ("#009e73", "P", "none"),
    "fit-gdl-u": ("#d55e00", "o", "-"),
    "fit-hdbscan": ("#009e73", "^", "-"),
    "fit-fast-hdbscan": ("#56b4e9", "P", "-"),
    "fit-leiden": ("#0072b2", "D", "-"),
    "fit-average": ("#cc79a7", "X", "-"),
    "fit-spectral": ("#000000", "s", "-"),
}
_LEAST_APART = 1.45  # the smallest factor between the heights of two labels


def draw_growth(rows: list[dict], path: Path) -> None:
    """Seconds against n, log-log: merging a given graph beside the authors' times, and whole fits."""
    figure, axes = plt.subplots(1, 2, figsize=(12, 5.4), layout="constrained", sharey=True)
    merging, whole = axes
    drawn = _draw_curves(merging, {**curves(rows, MERGING), **curves(rows, PAPER)})
    _label(merging, drawn, at_end=True)
    _draw_slopes(merging)
    drawn = _draw_curves(whole, curves(rows, WHOLE))
    _label(whole, {k: v for k, v in drawn.items() if k == "fit-gdl-u"}, at_end=True)
    _label(whole, {k: v for k, v in drawn.items() if k != "fit-gdl-u"}, at_end=False)
    merging.set(title="merging a given graph", ylabel="CPU time (s)", xlim=(700, 1e7))
    whole.set(title="whole fit from samples", xlim=(30, 2e7))
    for ax in axes:
        ax.set(xscale="log", yscale="log", xlabel="samples n", ylim=(1e-3, 200))
        ax.tick_params(labelleft=True)
        ax.grid(alpha=0.3)
    _save(figure, path)


def _draw_curves(ax, found):
    for name, points in found.items():
        colour, mark, line = _STYLE[name]
        width = 2.2 if name in ("gdl-u", "fit-gdl-u") else 1.3
        face = colour if line != "none" else "white"
        n, seconds = zip(*points, strict=True)
        ax.plot(n, seconds, mark, ls=line, color=colour, lw=width, ms=6, markerfacecolor=face)
    return found


def _label(ax, found, at_end):
    """Label each curve to the right of its last point, or to the left of its first, and move overlapping
    labels apart.
    """
    points = {name: curve[-1 if at_end else 0] for name, curve in found.items()}
    lowest = 0.0
    for name, (n, seconds) in sorted(points.items(), key=lambda item: item[1][1]):
        lowest = max(seconds, lowest * _LEAST_APART)
        place = n * (1.25 if at_end else 0.8), lowest
        side = "left" if at_end else "right"
        text = METHODS[name].label if name in METHODS else name
        ax.annotate(text, (n, seconds), place, color=_STYLE[name][0], fontsize=10, va="center", ha=side)


def _draw_slopes(ax):
    """Lines for powers of n, including those that the paper proves, where there is space."""
    n = np.array([5e4, 5e5])
    for power, label in ((1, "n"), (2, "n²: GDL-U, AGDL (paper)"), (3, "n³: GDL (paper)")):
        seconds = 1.2e-3 * (n / n[0]) ** power
        ax.plot(n, seconds, ":", color="#555555", linewidth=1.2)
        ax.annotate(
            label, (n[-1], seconds[-1]), (n[-1] * 1.1, seconds[-1]), color="#555555", fontsize=9, va="center"
        )


def _save(figure, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".part")
    figure.savefig(beside, dpi=130, format="png")
    plt.close(figure)
    beside.replace(path)
