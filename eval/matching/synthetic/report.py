"""Reports of the sweeps from the CSV alone: the figure of nine panels, the tables, the share of wins."""

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from eval.common.tables import format_markdown
from eval.matching.synthetic.methods import GDL, NAMES, SIFT_RANSAC
from eval.matching.synthetic.stages import SUFFIX
from eval.matching.synthetic.sweep import SWEEPS

FACTORS = {"n_outliers": "number of outliers", "sigma": "deformation σₙ (px)", "n_common": "common objects M"}
# Okabe and Ito's colours, which the colour-blind can tell apart; a rival with the other steps is dashed
STYLES = {
    "agdl": ("#000000", "o"),
    "gdl-u": ("#777777", "."),
    "agdl-paper": ("#999933", "s"),
    "acc": ("#D55E00", "v"),
    "graph-shift": ("#0072B2", "^"),
    "spectral-matching": ("#009E73", "D"),
    "ransac": ("#CC79A7", "<"),
    "hdbscan": ("#E69F00", ">"),
    "average-linkage": ("#56B4E9", "P"),
}

Panel = tuple[str, tuple[float, float]]  # the sweep, and the values of the two fixed factors


def panels(rows: list[dict]) -> dict[Panel, list[dict]]:
    """The rows of each panel, sweeps in their order, then by the fixed factors."""
    result: dict[Panel, list[dict]] = defaultdict(list)
    for row in rows:
        fixed = tuple(row[f] for f in SWEEPS if f != row["sweep"])
        result[row["sweep"], fixed].append(row)
    return dict(sorted(result.items(), key=lambda item: (SWEEPS.index(item[0][0]), item[0][1])))


def find_methods(rows: list[dict]) -> list[str]:
    """The methods that occur, in the order of NAMES."""
    present = {row["method"] for row in rows}
    return [name for name in NAMES if name in present]


def mean(rows: list[dict], method: str, column: str = "f") -> float:
    """Mean of a column over a method's rows, without nan fields."""
    values = np.array([row[column] for row in rows if row["method"] == method], float)
    values = values[~np.isnan(values)]
    return float(values.mean()) if len(values) else float("nan")


def share_found(rows: list[dict], method: str) -> float:
    """Objects found over all objects."""
    return mean(rows, method, "objects_found") / mean(rows, method, "objects")


MEASURES: dict[str, Callable[[list[dict], str], float]] = {"F": mean, "objects found": share_found}


def win_share(rows: list[dict], rivals: tuple[str, ...] = ("acc", "graph-shift")) -> tuple[float, int]:
    """Share of the trials in which AGDL's F is higher than that of all `rivals`, and the number of trials."""
    f = _group_by_trial(rows)
    both = [t for t in f.values() if {"agdl", *rivals} <= t.keys()]
    won = [t["agdl"] > max(t[r] for r in rivals) for t in both]
    return (float(np.mean(won)) if won else float("nan")), len(won)


def _group_by_trial(rows: list[dict]) -> dict[tuple, dict[str, float]]:
    f: dict[tuple, dict[str, float]] = defaultdict(dict)
    for row in rows:
        f[tuple(row[k] for k in ("sweep", "n_outliers", "sigma", "n_common", "seed"))][row["method"]] = row[
            "f"
        ]
    return f


def summary(rows: list[dict]) -> str:
    """The whole report as Markdown."""
    share, n = win_share(rows)
    mild = [row for row in rows if row["sigma"] <= 15]
    seeds = sorted({int(row["seed"]) for row in rows})
    won = f", {n} trials: AGDL's F is higher than ACC's and Graph Shift's in {share:.1%}" if n else ""
    f = mean(mild, "agdl")
    own = "" if np.isnan(f) else f" Mean F of AGDL where σₙ ≤ 15 px: {f:.3f}."
    parts = [
        f"Seeds {seeds[0]} to {seeds[-1]}{won}.{own}",
        "## Over all trials\n\n" + format_overall(rows),
        "## Mean F in each panel\n\n" + format_panel(rows, "F"),
        "## Objects found in each panel\n\n" + format_panel(rows, "objects found"),
        "## Where a rival is ahead\n\n" + format_ahead(rows),
    ]
    return "\n\n".join(parts) + "\n"


def format_overall(rows: list[dict]) -> str:
    """A line for each method; sift-ransac is judged on its own matches."""
    head = [
        "method",
        "F",
        "precision",
        "recall",
        "true matches",
        "objects found",
        "clusters per object",
        "mixed",
        "s",
    ]
    columns: dict[str, Callable[[str], str]] = {
        "F": lambda m: f"{mean(rows, m):.3f}",
        "precision": lambda m: f"{mean(rows, m, 'precision'):.3f}",
        "recall": lambda m: f"{mean(rows, m, 'recall'):.3f}",
        "true matches": lambda m: f"{mean(rows, m, 'true_matches'):.0f}",
        "objects found": lambda m: f"{share_found(rows, m):.1%}",
        "clusters per object": lambda m: (
            f"{mean(rows, m, 'clusters') / max(mean(rows, m, 'objects_found'), 1e-9):.2f}"
        ),
        "mixed": lambda m: f"{mean(rows, m, 'mixed'):.2f}",
        "s": lambda m: f"{mean(rows, m, 'seconds'):.2f}",
    }
    return format_markdown(head, [[m, *(columns[c](m) for c in head[1:])] for m in find_methods(rows)])


def format_panel(rows: list[dict], measure: str) -> str:
    """A line for each panel, a column for each method; the best on the same candidates in bold."""
    names = find_methods(rows)
    lines = []
    for panel, inside in panels(rows).items():
        values = {m: MEASURES[measure](inside, m) for m in names}
        best = max((round(v, 3) for m, v in values.items() if m != SIFT_RANSAC), default=np.nan)
        cells = [
            f"**{v:.3f}**" if round(v, 3) == best and m != SIFT_RANSAC else f"{v:.3f}"
            for m, v in values.items()
        ]
        lines.append([panel_title(panel), *cells])
    return format_markdown(["panel", *names], lines)


def panel_title(panel: Panel) -> str:
    """The factor that varies and the two that do not."""
    sweep, values = panel
    short = {"n_outliers": "N", "sigma": "σₙ", "n_common": "M"}
    fixed = ", ".join(
        f"{short[f]} = {v:g}" for f, v in zip((f for f in SWEEPS if f != sweep), values, strict=True)
    )
    return f"{short[sweep]} ({fixed})"


def format_ahead(rows: list[dict]) -> str:
    """A line for each rival on the same candidates: the points at which it exceeds AGDL, and by how much."""
    points: dict[tuple, list[dict]] = defaultdict(list)
    for row in rows:
        points[tuple(row[f] for f in SWEEPS)].append(row)
    lines = []
    for name in find_methods(rows):
        if name in (*GDL, SIFT_RANSAC):
            continue
        cells = [name]
        for measure in MEASURES.values():
            leads = np.array([measure(inside, name) - measure(inside, "agdl") for inside in points.values()])
            ahead = leads[leads > 0]
            cells += [f"{len(ahead)} of {len(points)}", f"{ahead.max():.3f}" if len(ahead) else "-"]
        lines.append(cells)
    head = [text for name in MEASURES for text in (f"points ahead in {name}", "by at most")]
    return format_markdown(["rival", *head], lines)


def draw(rows: list[dict], path: Path) -> None:
    """The figure: a panel for each setting of the fixed factors, mean F and the 95 % interval of the mean."""
    matplotlib.use("Agg")
    grid = panels(rows)
    counts = [sum(panel[0] == sweep for panel in grid) for sweep in SWEEPS]
    figure = Figure(figsize=(4.2 * max(counts), 3.4 * 3 + 0.8), layout="constrained")
    axes = figure.subplots(3, max(counts), sharey=True, squeeze=False)
    for axis in axes.ravel():
        axis.set_visible(False)
    place = dict.fromkeys(SWEEPS, 0)
    for panel, inside in grid.items():
        axis = axes[SWEEPS.index(panel[0]), place[panel[0]]]
        place[panel[0]] += 1
        _draw_panel(axis, panel, inside)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=2 * max(counts), fontsize=8, frameon=False
    )
    axes[0, 0].set_ylim(_lower_edge(rows), 1.01)
    beside = path.with_name(path.name + ".part")
    figure.savefig(beside, format="png", dpi=120)
    beside.replace(path)


def _lower_edge(rows: list[dict]) -> float:
    """A tenth below the smallest mean at any point, so that the panels use their height."""
    points = {tuple(row[f] for f in ("method", *SWEEPS)) for row in rows if row["method"] != SIFT_RANSAC}
    means = (mean([r for r in rows if tuple(r[f] for f in SWEEPS) == p[1:]], p[0]) for p in points)
    least = min(means, default=0.0)
    return max(0.0, np.floor(10 * least) / 10 - 0.05)


def _draw_panel(axis, panel: Panel, rows: list[dict]) -> None:
    axis.set_visible(True)
    axis.set_title(panel_title(panel).split("(")[1].rstrip(")"), fontsize=10)
    axis.set(xlabel=FACTORS[panel[0]], ylabel="F-score")
    axis.tick_params(labelleft=True)
    axis.grid(alpha=0.3)
    for name in find_methods(rows):
        if name == SIFT_RANSAC:
            continue
        x, y, half = curve(rows, panel[0], name)
        strong = name == "agdl"
        colour, marker = STYLES[name.removesuffix(SUFFIX)]
        style = {
            "color": colour,
            "marker": marker,
            "ms": 5 if strong else 4,
            "lw": 2.4 if strong else 1.2,
            "ls": "--" if name.endswith(SUFFIX) else "-",
        }
        axis.plot(x, y, label=name, zorder=3 if strong else 2, **style)
        axis.fill_between(x, y - half, np.minimum(y + half, 1), color=colour, alpha=0.12, lw=0)


def curve(rows: list[dict], factor: str, method: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values of the factor, mean F at each, and half the width of the mean's 95 % interval (normal)."""
    x = np.unique([row[factor] for row in rows])
    samples = [np.array([r["f"] for r in rows if r[factor] == v and r["method"] == method]) for v in x]
    half = [1.96 * s.std(ddof=1) / np.sqrt(len(s)) if len(s) > 1 else 0.0 for s in samples]
    return x, np.array([s.mean() for s in samples]), np.array(half)
