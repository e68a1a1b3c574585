"""Time, memory and quality of gdl_core, compared with what users would otherwise use.

Prints a Markdown table for each part:

growth      whole fits of 10^4, 10^5 and 10^6 samples, each in a process of its own
given       ten million samples merged from a graph in files, which are made if --graph has none
rivals      seconds against n, and how fast they grow: ours, the paper's, and others if installed
quality     NMI over K and min_cluster_size
suite       ARI on a public suite of labelled sets, compared with other methods; numbers of clusters found
changed     ARI on changed copies of these sets, jittered, thinned, turned and stretched
strangers   F of people and share of strangers at -1, on made sets of 16 to 128 features and on digits
held-out    ARI on sets that the clusterer was not chosen on: of the suite, drawn shapes, other origin, copies

CPU seconds are summed over all threads; other programs on the machine inflate them less than wall time does.
"""

import argparse
import os
import warnings
from collections.abc import Iterable
from pathlib import Path

from eval.clustering import changed, growth, held_out, rivals, settings, strangers, suite
from eval.common.measuring import run_apart
from eval.common.options import add_options, at_least
from eval.common.tables import format_markdown, read_csv, write_csv

NEEDED = {
    "quality": tuple(settings.SETS),
    "suite": ("suite/other_iris",),
    "changed": ("suite/other_iris",),
    "held-out": ("suite/other_iris", "coil20", "usps9298", "mnist_test", "yaleb"),
}  # sets by part
SIZES = [10_000, 100_000, 1_000_000]
TEN_MILLION = 10_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parts = f"some of {', '.join(PARTS)} (default: all but given)"
    parser.add_argument("parts", nargs="*", metavar="PART", help=parts)
    jobs = {"type": at_least(1), "default": 2, "help": "threads, for all methods that use them (default: 2)"}
    out = {"default": None, "help": "folder for rivals.csv and its figure (part rivals)"}
    add_options(parser, data={"required": False}, jobs=jobs, out=out)
    parser.add_argument(
        "--sizes", type=at_least(1000), nargs="+", default=SIZES, help="numbers of samples (part growth)"
    )
    parser.add_argument("--graph", type=Path, help="folder for the graph of ten million samples (part given)")
    parser.add_argument(
        "--methods",
        nargs="+",
        metavar="METHOD",
        help="rows of part suite, columns of parts held-out and strangers (all)",
    )
    parser.add_argument(
        "--redraw", action="store_true", help="part rivals: draw from rivals.csv in --out, measure nothing"
    )


def run(options: argparse.Namespace) -> None:
    parts = options.parts or [part for part in PARTS if part != "given"]
    for part in parts:
        if part not in PARTS:
            raise ValueError(f"PART must be one of {', '.join(PARTS)}, got {part}")
        check_data(options.data, part)
    if "given" in parts and options.graph is None:
        raise ValueError("given: --graph must name a folder, about 2 GB, got none")
    if options.redraw and options.out is None:
        raise ValueError("--redraw needs --out, got none")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in parts:
            PARTS[part](options)
    print(f"\nload average of the last minute: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")


def check_data(data: Path | None, part: str) -> None:
    """Raise ValueError if the folder lacks a set that the part needs."""
    for name in NEEDED.get(part, ()):
        if data is None or not (Path(data) / "clustering" / f"{name}.npz").is_file():
            needed = f"with clustering/{name}.npz, got {data}"
            raise ValueError(f"{part}: --data or GDL_DATA must name a folder {needed}")


def print_table(title: str, head: Iterable[str], rows: Iterable[list[str]]) -> None:
    """Print a table under a heading."""
    print(f"\n### {title}\n\n{format_markdown(list(head), rows)}", flush=True)


def measure_growth(options: argparse.Namespace) -> None:
    """Print the tables of part growth."""
    fits = [run_apart(growth.fit_blobs, n, options.jobs) for n in options.sizes]
    title = "Whole fits of 50 blobs in 16 dimensions, K=20, `gdl-u`"
    print_table(title, growth.HEAD, map(growth.fit_row, fits))


def measure_given(options: argparse.Namespace) -> None:
    """Print the tables of part given."""
    if not growth.has_graph(TEN_MILLION, options.graph):
        cpu, peak = run_apart(growth.write_graph, TEN_MILLION, options.graph, options.jobs)
        print(f"\nSearch of the neighbours: {cpu:.0f} CPU s, {peak:.1f} GB at the peak")
    fit = run_apart(growth.fit_given_graph, options.graph, options.jobs)
    print_table("Ten million samples merged from a graph in files", growth.HEAD, [growth.fit_row(fit)])


def measure_rivals(options: argparse.Namespace) -> None:
    """Print the tables of part rivals."""
    if options.redraw:
        rows = read_csv(options.out / "rivals.csv", rivals.COLUMNS)
    else:
        rows = list(rivals.measure_growth(options.jobs))
        if options.out:
            write_csv(options.out / "rivals.csv", rivals.COLUMNS, rows)
    print_table("CPU seconds against n, the same blobs", rivals.EXPONENT_HEAD, rivals.exponent_rows(rows))
    if options.out:
        from eval.clustering.figures import draw_growth

        draw_growth(rows, options.out / "clustering-growth.png")


def measure_quality(options: argparse.Namespace) -> None:
    """Print the tables of part quality."""
    rows = settings.quality_rows(options.data, options.jobs)
    print_table("NMI against min_cluster_size: gdl-u, K0=1, a=1", settings.HEAD, rows)


def measure_suite(options: argparse.Namespace) -> None:
    """Print the tables of part suite."""
    methods = choose_methods(suite.METHODS, options.methods)
    scores, seconds = suite.score_methods(Path(options.data), methods)
    print_table("Mean ARI by kind of set", *suite.kind_rows(scores, seconds))
    print_table("ARI of each set", *suite.each_rows(scores))
    print_table("Numbers of clusters", suite.COUNT_HEAD, suite.count_rows(Path(options.data)))


def measure_changed(options: argparse.Namespace) -> None:
    """Print the tables of part changed."""
    rows = changed.changed_rows(Path(options.data))
    print_table("Mean ARI on changed copies", changed.HEAD, rows)


def measure_held_out(options: argparse.Namespace) -> None:
    """Print the table of part held-out."""
    methods = choose_methods(held_out.COMPARED, options.methods)
    groups = held_out.read_groups(Path(options.data))
    print_table("Mean ARI on sets not chosen on", *held_out.held_out_rows(groups, methods))


def measure_strangers(options: argparse.Namespace) -> None:
    """Print the table of part strangers."""
    methods = choose_methods(strangers.METHODS, options.methods)
    print_table("People and strangers: F, share at -1", *strangers.stranger_rows(methods))


def choose_methods(methods: dict[str, suite.Fit], names: list[str] | None) -> dict[str, suite.Fit]:
    """The named methods, or all; raise ValueError for an unknown name."""
    for name in names or ():
        if name not in methods:
            raise ValueError(f"--methods must be some of {'; '.join(methods)}, got {name}")
    return {name: methods[name] for name in names or methods}


PARTS = {
    "growth": measure_growth,
    "given": measure_given,
    "rivals": measure_rivals,
    "quality": measure_quality,
    "suite": measure_suite,
    "changed": measure_changed,
    "held-out": measure_held_out,
    "strangers": measure_strangers,
}
