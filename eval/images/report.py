"""Tables of the image-clustering runs beside the paper's figures, as Markdown and as rows for CSV."""

import math
from collections.abc import Iterable

from eval.common.tables import format_markdown
from eval.images.baselines import METHODS, OURS, PAPER
from eval.images.datasets import NOT_TO_BE_HAD
from eval.images.workers import OK, OVER

COLUMNS = (
    *("dataset", "method", "bandwidth", "nmi", "ce", "seconds", "ari", "clusters", "parameter", "value"),
    *("cpu_seconds", "search_seconds", "search_cpu_seconds", "runs", "planned", "note"),
    "n_neighbors",
)
TIMED = ("ncuts", "njw", "dgsc", "zell")
FIXED = ("gdl-mcs", "gdl-mcs-10")

_SETS = ("coil20", "coil100", "usps9298", "mnist_test", "yaleb", "frgc")
_NMI = """
0.710 0.647 0.896 0.884 0.889 0.904 0.895 0.911 0.937 0.937
0.706 0.606 0.855 0.823 0.854 0.858 0.858 0.913 0.929 0.933
0.336 0.095 0.732 0.675 0.690 0.747 0.726 0.799 0.824 0.824
0.390 0.304 0.808 0.753 0.755 0.795 0.756 0.768 0.844 0.844
0.329 0.255 0.766 0.809 0.851 0.869 0.860 0.781 0.910 0.910
0.541 0.570 0.669 0.720 0.723 0.732 0.729 0.653 0.747 0.746
"""
_CE = """
0.401 0.677 0.213 0.246 0.228 0.201 0.158 0.187 0.142 0.142
0.570 0.819 0.394 0.462 0.411 0.396 0.391 0.351 0.267 0.269
0.607 0.874 0.252 0.459 0.354 0.255 0.421 0.332 0.246 0.246
0.577 0.776 0.162 0.405 0.432 0.230 0.305 0.400 0.150 0.150
0.728 0.847 0.376 0.273 0.270 0.237 0.205 0.464 0.197 0.197
0.728 0.753 0.664 0.565 0.596 0.595 0.580 0.560 0.548 0.551
"""
_SECONDS = """
3.880 6.399 8.280 15.22 0.265 0.277
133.8 239.7 326.4 432.9 12.81 5.530
263.0 461.6 538.9 9703 53.64 29.01
247.2 384.4 460.4 64003 35.60 17.18
9.412 13.99 16.00 178.2 0.731 0.564
577.4 914.3 1012.2 65021 49.15 18.62
"""


def _read_published(text: str, methods: tuple[str, ...]) -> dict[str, dict[str, float]]:
    lines = [[float(cell) for cell in line.split()] for line in text.split("\n") if line]
    return {name: dict(zip(methods, line, strict=True)) for name, line in zip(_SETS, lines, strict=True)}


PAPER_NMI = _read_published(_NMI, PAPER)  # the paper's Table 1
PAPER_CE = _read_published(_CE, PAPER)  # its supplement's table
PAPER_SECONDS = _read_published(_SECONDS, (*TIMED, "gdl-u", "agdl"))  # its Table 2


def choose_best_rows(runs: Iterable[dict], planned: dict[str, int]) -> list[dict]:
    """For each set without added noise and each method, the run with the largest NMI, in the order of the
    runs.

    `planned` is the number of values of each method; the note of a row says what is missing.
    """
    groups: dict[tuple[str, str], list[dict]] = {}
    for run in runs:
        if run["sigma"] == 0:
            groups.setdefault((run["dataset"], run["method"]), []).append(run)
    return [_choose_best(*key, group, planned[key[1]]) for key, group in groups.items()]


def _choose_best(dataset: str, name: str, runs: list[dict], planned: int) -> dict:
    whole = [run for run in runs if run["status"] == OK]
    best = max(whole, key=lambda run: run["nmi"], default={})
    over = [run["seconds"] for run in runs if run["status"] == OVER]
    finished = sum(run["status"] != OVER for run in runs)
    note = f"over {max(over):g} s after {finished} of {planned}" if over else ""
    if not over and finished < planned:
        note = f"{finished} of {planned} values"
    if not whole and not over:
        note = "no convergence"
    value = best.get("value")
    value = math.nan if value is None else value
    kept = ("nmi", "ce", "seconds", "ari", "clusters", "cpu_seconds", "search_seconds", "search_cpu_seconds")
    return {
        "dataset": dataset,
        "method": name,
        "bandwidth": value if METHODS[name].parameter == "a" else math.nan,
        "parameter": METHODS[name].parameter,
        "value": value,
        "runs": finished,
        "planned": planned,
        "note": note,
        **{key: best.get(key, math.nan) for key in kept},
        "n_neighbors": runs[0]["n_neighbors"],
    }


def report(rows: list[dict]) -> str:
    """All tables of `choose_best_rows`."""
    sets = list(dict.fromkeys(row["dataset"] for row in rows))
    table = {(row["dataset"], row["method"]): row for row in rows}
    parts = [
        "# Image clustering",
        _quality_table("NMI (geometric mean)", "nmi", PAPER_NMI, table, sets),
        _quality_table("Clustering error", "ce", PAPER_CE, table, sets),
        _quality_table("Adjusted Rand index", "ari", {}, table, sets),
        _seconds_table(table, sets),
    ]
    parts += [part(table, sets) for part in (_margins, _ratios) if part(table, sets)]
    return "\n\n".join(parts) + "\n"


def _methods(table):
    return [name for name in METHODS if any(method == name for _, method in table)]


def _quality_table(title: str, key: str, paper: dict, table: dict, sets: list[str]) -> str:
    """Methods down, sets across, the paper's figure in brackets."""

    def cell(dataset, name):
        row = table.get((dataset, name))
        published = paper.get(dataset, {}).get(name)
        text = "not run" if row is None else _figure(row, key)
        return text + (f" ({published:.3f})" if published is not None else "")

    lines = [[METHODS[name].label, *(cell(d, name) for d in sets)] for name in _methods(table)]
    text = f"## {title}\n\n" + format_markdown(["method", *sets], lines)
    if paper:
        text += "\n\nThe paper's figures are in brackets. "
        text += " ".join(f"{name}: {reason}." for name, reason in NOT_TO_BE_HAD.items())
    return text


def _figure(row: dict, key: str) -> str:
    note = row["note"] if isinstance(row["note"], str) else ""
    if math.isnan(row[key]):
        return note
    return f"{row[key]:.3f}" + (f" [{note}]" if note else "")


def _seconds_table(table: dict, sets: list[str]) -> str:
    def cell(dataset, name):
        row = table.get((dataset, name))
        if row is None or math.isnan(row["cpu_seconds"]):
            return "not run" if row is None else row["note"]
        alone = row["cpu_seconds"] - row["search_cpu_seconds"]
        return f"{row['cpu_seconds']:.2f} / {alone:.2f}"

    lines = [[METHODS[name].label, *(cell(d, name) for d in sets)] for name in _methods(table)]
    head = (
        "## CPU seconds of the best run\n\nOne thread; with / without the search for neighbours or distances."
    )
    return head + "\n\n" + format_markdown(["method", *sets], lines)


def _margins(table: dict, sets: list[str]) -> str:
    """Our fixed settings against the best of the others, each of them at its best parameter."""
    lines = []
    fixed = {m: f"K={row['n_neighbors']:g}" for (_, m), row in sorted(table.items()) if m in FIXED}
    for dataset in sets:
        ours = [table[dataset, name]["nmi"] for name in fixed if (dataset, name) in table]
        rivals = [r for (d, m), r in table.items() if d == dataset and m not in OURS and r["nmi"] >= 0]
        if not ours or len(ours) < len(fixed) or not rivals:
            continue
        best = max(rivals, key=lambda row: row["nmi"])
        tuned = f" ({best['parameter']} = {best['value']:.3g})" if isinstance(best["parameter"], str) else ""
        cells = [f"{nmi:.3f} ({nmi - best['nmi']:+.3f})" for nmi in ours]
        lines.append([dataset, *cells, METHODS[best["method"]].label + tuned, f"{best['nmi']:.3f}"])
    head = "## One fixed setting (a=1, min_cluster_size=5) against the best rival, tuned on the labels\n\n"
    head += "The difference from the best rival is in brackets.\n\n"
    return head + format_markdown(["set", *fixed.values(), "best rival", "its NMI"], lines) if lines else ""


def _ratios(table: dict, sets: list[str]) -> str:
    """CPU seconds of the spectral methods and Zell over those of GDL-U and AGDL."""
    lines = []
    for dataset in sets:
        for ours in ("gdl-u", "agdl"):
            cells = [_ratio(table, dataset, rival, ours) for rival in TIMED]
            if any(cells):
                lines.append([dataset, METHODS[ours].label, *cells])
    head = "## Times as long as GDL\n\nCPU seconds after the search for neighbours, best run of each; "
    head += "the paper's ratio of seconds is in brackets.\n\n"
    names = [METHODS[name].label for name in TIMED]
    return head + format_markdown(["set", "compared with", *names], lines) if lines else ""


def _ratio(table, dataset, rival, ours):
    rows = table.get((dataset, rival)), table.get((dataset, ours))
    if any(row is None or math.isnan(row["seconds"]) for row in rows):
        return "" if rows[0] is None else rows[0]["note"]
    theirs, own = (row["cpu_seconds"] - row["search_cpu_seconds"] for row in rows)
    published = PAPER_SECONDS.get(dataset)
    text = f"{theirs / own:.0f}"
    return text + (f" ({published[rival] / published[ours]:.0f})" if published else "")
