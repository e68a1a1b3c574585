"""The clustering figures, from saved results: toy set, degrees, NMI against bandwidth and noise."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

from eval.images.baselines import METHODS, OURS
from eval.images.toy_runs import Degrees
from eval.images.workers import OK

# Okabe and Ito's palette; our methods in the strongest colours
_STYLE = {
    "agdl": ("#d55e00", "o", "-"),
    "gdl-u": ("#d55e00", "v", ":"),
    "gdl-mcs": ("#000000", "s", "-"),
    "gdl-mcs-10": ("#000000", "d", ":"),
    "g-link": ("#0072b2", "^", "-"),
    "ncuts": ("#56b4e9", "D", "--"),
    "njw": ("#009e73", "P", "--"),
    "dgsc": ("#cc79a7", "X", "--"),
    "stsc": ("#e69f00", "<", ":"),
    "zell": ("#999999", "*", "-"),
}
_CLUSTERS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7")
_MARKS = ("o", "^", "s", "D")


def draw_toy(points: NDArray, panels: list[tuple[str, NDArray]], path: Path) -> None:
    """A panel for each (title, labels) in two rows."""
    figure, axes = plt.subplots(2, (len(panels) + 1) // 2, figsize=(11, 4.3), layout="constrained")
    for ax, (title, labels) in zip(axes.flat, panels, strict=False):
        for c in np.unique(labels):
            colour = _CLUSTERS[c % 4] if c >= 0 else "#bbbbbb"
            style = {"marker": _MARKS[c % 4], "linewidths": 0.5, "edgecolors": colour}
            ax.scatter(*points[labels == c].T, s=9, c=colour, **style)
        ax.set_title(title, fontsize=10)
        ax.set(xticks=[], yticks=[], aspect="equal")
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    _save(figure, path)


def draw_degrees(across: Degrees, within: Degrees, rows: list[dict], path: Path) -> None:
    """Indegree against outdegree of each sample, across two clusters and within one, with the statistics."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
    names = {"across": "to a cluster of another density", "within": "to their own cluster"}
    for ax, (case, d) in zip(axes, (("across", across), ("within", within)), strict=True):
        ax.scatter(d.indegree, d.outdegree, s=8, c="#0072b2", alpha=0.5, linewidths=0)
        found = {row["quantity"]: row for row in rows if row["case"] == case}
        lines = [
            f"{label}: mean {found[key]['mean']:.2f}, above 0: {found[key]['share_nonzero']:.0%}"
            for key, label in (
                ("indegree", "indegree"),
                ("outdegree", "outdegree"),
                ("root_product", "√(in · out)"),
            )
        ]
        lines.append(f"correlation {found['indegree']['correlation']:.2f}")
        ax.set_title(f"Samples {names[case]}\n" + "\n".join(lines), fontsize=9)
        ax.set(xlabel="average indegree (weight)", ylabel="average outdegree (weight)")
        ax.grid(alpha=0.3)
    _save(figure, path)


def draw_robustness(runs: list[dict], noises: list[list[dict]], dataset: str, path: Path) -> None:
    """NMI on one set against the bandwidth a, and against added noise with the best a at each level.

    There is a panel for each of `noises`, the rows of runs with noise on images of one size.
    """
    figure, axes = plt.subplots(
        1, 1 + len(noises), figsize=(2 + 3.6 * (1 + len(noises)), 4.2), layout="constrained", squeeze=False
    )
    first, *others = axes[0]
    for name in _STYLE:
        curve = bandwidth_curve(runs, dataset, name)
        if len(curve) > 1:
            _line(first, name, *zip(*curve, strict=True))
    first.set(xscale="log", xlabel="bandwidth a", ylabel=f"NMI on {dataset} (geometric mean)")
    for ax, noise in zip(others, noises, strict=True):
        _draw_noise(ax, noise, dataset)
    for ax in axes[0]:
        ax.set_ylim(0.25, 1)
        ax.grid(alpha=0.3)
    handles = {label: h for ax in axes[0] for h, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside right center", frameon=False, fontsize=9)
    _save(figure, path)


def _draw_noise(ax, noise, dataset):
    for name in _STYLE:
        levels = noise_curve(noise, dataset, name)
        if len(levels) > 1:
            sigma, mean, low, high = zip(*levels, strict=True)
            _line(ax, name, sigma, mean)
            ax.fill_between(sigma, low, high, color=_STYLE[name][0], alpha=0.15, linewidth=0)
    ax.set(xlabel="σ of the added noise (grey levels)")
    repeat = max((int(r["repeat"]) for r in noise), default=1)
    ax.set_title(
        "noise on the images" if repeat == 1 else f"noise, pixels repeated {repeat} x {repeat}", fontsize=10
    )


def bandwidth_curve(runs: list[dict], dataset: str, name: str) -> list[tuple[float, float]]:
    """(a, NMI) of one method without noise, by ascending a. If there is no result, NMI is nan."""
    kept = [r for r in runs if (r["dataset"], r["method"]) == (dataset, name) and r["sigma"] == 0]
    if METHODS[name].parameter != "a" or len(kept) < 2:
        return []
    return sorted((r["value"], r["nmi"] if r["status"] == OK else float("nan")) for r in kept)


def noise_curve(runs: list[dict], dataset: str, name: str) -> list[tuple[float, float, float, float]]:
    """(sigma; mean, smallest and largest NMI over the draws of noise), each with the best a."""
    best: dict[float, dict[float, float]] = {}
    for r in runs:
        if (r["dataset"], r["method"], r["status"]) == (dataset, name, OK):
            draws = best.setdefault(r["sigma"], {})
            draws[r["noise_seed"]] = max(r["nmi"], draws.get(r["noise_seed"], 0.0))
    values = {sigma: list(draws.values()) for sigma, draws in sorted(best.items())}
    return [(sigma, float(np.mean(v)), min(v), max(v)) for sigma, v in values.items()]


def robustness_table(runs: list[dict], noise: list[dict], dataset: str) -> list[list[str]]:
    """[method, largest NMI over a, smallest over a >= 1 and over all a, NMI without noise, with the most
    noise, drop] for each method.
    """
    lines = []
    for name in _STYLE:
        over_a = [value for _, value in bandwidth_curve(runs, dataset, name)]
        levels = noise_curve(noise, dataset, name)
        least = 0.0 if np.isnan(over_a).any() else min(over_a, default=np.nan)
        most = np.nanmax(over_a) if over_a else np.nan
        middle = [v for a, v in bandwidth_curve(runs, dataset, name) if 0.99 <= a <= 101]
        cells = [most, min(middle, default=np.nan), least]
        noisy = len(levels) > 1
        cells += [levels[0][1], levels[-1][1], levels[0][1] - levels[-1][1]] if noisy else [np.nan] * 3
        lines.append([METHODS[name].label, *("" if np.isnan(c) else f"{c:.3f}" for c in cells)])
    return lines


def _line(ax, name, x, y):
    colour, mark, dash = _STYLE[name]
    width = 2.2 if name in OURS else 1.2
    ax.plot(x, y, dash, marker=mark, color=colour, linewidth=width, markersize=5, label=METHODS[name].label)


def _save(figure, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".part")
    figure.savefig(beside, dpi=130, format="png")
    plt.close(figure)
    beside.replace(path)
