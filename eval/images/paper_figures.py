"""The clustering figures: toy.png, degrees.png and robustness.png, drawn from saved results.

Reads runs.csv and noise.csv of `python -m eval images --noise SET`. Writes the runs on points to toy.csv
and degrees to degrees.csv. Also prints the tables of the figures.
"""

import argparse
from pathlib import Path

from eval.common.options import add_options, at_least
from eval.common.tables import format_markdown, read_csv, write_csv
from eval.images import figures as image_figures
from eval.images.baselines import METHODS
from eval.images.toy_runs import (
    ALSO,
    DEGREE_COLUMNS,
    EIGHT,
    TOY_COLUMNS,
    degree_rows,
    label_toy,
    measure_toys,
    pooled_degrees,
)
from synth.toys import make_crowded

SHOWN = 0  # the seed of the panels, at the first gap


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, out="figures")
    parser.add_argument("--results", type=Path, help="results of `python -m eval images`, for robustness.png")
    parser.add_argument("--noise", type=Path, nargs="+", help="folders with noise.csv; each gives a panel")
    parser.add_argument("--dataset", default="coil20", help="the set of robustness.png (default coil20)")
    parser.add_argument("--seeds", type=at_least(1), default=20, help="draws of the toy sets (default 20)")
    parser.add_argument(
        "--gaps",
        type=float,
        nargs="+",
        default=[0.21],
        help="gaps between the toy clusters; the first is drawn (default 0.21)",
    )


def run(args: argparse.Namespace) -> None:
    draw_toy(args.out, range(args.seeds), list(dict.fromkeys(args.gaps)))
    draw_degrees(args.out, range(args.seeds))
    if args.results:
        draw_robustness(args.results, args.noise or [args.results], args.dataset, args.out)


def draw_toy(out: Path, seeds: range, gaps: list[float]) -> None:
    """Draw toy.png, and print its table."""
    rows = measure_toys((*EIGHT, *ALSO), seeds, tuple(gaps))
    write_csv(out / "toy.csv", TOY_COLUMNS, rows)
    points = make_crowded(SHOWN, gaps[0])
    panels = [
        (panel_title(rows, name, gaps[0]), label_toy(points, name, choose_shown_value(rows, name, gaps[0])))
        for name in EIGHT
    ]
    image_figures.draw_toy(points.points, panels, out / "toy.png")
    print(format_toys(rows, gaps))


def choose_shown_value(rows: list[dict], name: str, gap: float) -> float | None:
    """Choose a = 1 for graph methods, and the best value for others."""
    return 1.0 if METHODS[name].parameter == "a" else choose_best_value(rows, name, gap)


def panel_title(rows: list[dict], name: str, gap: float) -> str:
    """The method, and how often it is perfect."""
    title = f"{METHODS[name].label}\nperfect: {share(rows, name, choose_shown_value(rows, name, gap), gap)}"
    if METHODS[name].parameter == "a":
        title += f", best a: {share(rows, name, choose_best_value(rows, name, gap), gap)}"
    return title


def format_toys(rows: list[dict], gaps: list[float]) -> str:
    """Count perfect runs of each method, at a = 1 and at its best value, for each gap."""
    lines = []
    for name in (*EIGHT, *ALSO):
        cells = [METHODS[name].label]
        for gap in gaps:
            cells.append(share(rows, name, 1.0, gap) if METHODS[name].parameter == "a" else "")
            cells.append(share(rows, name, choose_best_value(rows, name, gap), gap))
        lines.append(cells)
    head = [f"gap {gap}, {what}" for gap in gaps for what in ("a = 1", "best parameter")]
    return format_markdown(["method", *head], lines)


def choose_best_value(rows: list[dict], name: str, gap: float) -> float | None:
    """The value with the most perfect runs, or, of equal ones, the least error; None if nothing is tuned."""
    groups: dict[float, list[dict]] = {}
    for row in rows:
        if (row["method"], row["gap"]) == (name, gap):
            groups.setdefault(row["value"] if METHODS[name].parameter else 0.0, []).append(row)

    def rank(value):
        return sum(row["perfect"] for row in groups[value]), -sum(row["ce"] for row in groups[value])

    return max(groups, key=rank) if METHODS[name].parameter else None


def share(rows: list[dict], name: str, value: float | None, gap: float) -> str:
    """How many runs of a method with a value of its parameter are perfect."""
    kept = [r for r in rows if (r["method"], r["gap"]) == (name, gap) and value in (None, r["value"])]
    return f"{sum(r['perfect'] for r in kept):.0f} of {len(kept)}"


def draw_degrees(out: Path, seeds: range) -> None:
    """Draw degrees.png, write degrees.csv, and print its table."""
    rows = degree_rows(seeds)
    write_csv(out / "degrees.csv", DEGREE_COLUMNS, rows)
    across, within = pooled_degrees(seeds, 0, 2), pooled_degrees(seeds, 0, 0)
    image_figures.draw_degrees(across, within, rows, out / "degrees.png")
    cells = ([r["case"], r["quantity"], f"{r['mean']:.2f}", f"{r['share_nonzero']:.2f}"] for r in rows)
    print("\n" + format_markdown(["case", "quantity", "mean", "share above 0"], cells))


def draw_robustness(results: Path, folders: list[Path], dataset: str, out: Path) -> None:
    """Draw robustness.png, and print a table for each of its panels of noise."""
    runs = read_csv(results / "runs.csv")
    noises = [read_csv(f / "noise.csv") for f in folders if (f / "noise.csv").is_file()]
    image_figures.draw_robustness(runs, noises, dataset, out / "robustness.png")
    for noise in noises or [[]]:
        lines = image_figures.robustness_table(runs, noise, dataset)
        head = [
            "method",
            "best a",
            "lowest, a from 1 to 100",
            "lowest, all a",
            "no noise",
            "most noise",
            "drop",
        ]
        print("\n" + format_markdown(head, lines))
