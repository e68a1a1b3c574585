"""The image-clustering experiments: GDL and its rivals on image sets with known classes.

Writes runs.csv (a row for each method and value of its parameter), clustering.csv (the best of these) and
clustering.md. Without data, the sets are those that installed packages ship. If it was stopped, run the same
command again to continue.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from eval.common.options import add_options, at_least
from eval.common.tables import read_csv, write_csv, write_text
from eval.images import datasets
from eval.images import report as image_report
from eval.images.baselines import METHODS
from eval.images.runs import COLUMNS, Plan, Subject
from eval.images.runs import run as run_plan

NOISE_METHODS = ("g-link", "ncuts", "njw", "dgsc", "stsc", "zell", "gdl-u", "agdl", "gdl-mcs", "gdl-mcs-10")
SIGMAS = (40.0, 80.0, 120.0, 160.0)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    sets = f"folder with <set>.npz, or whose subfolder clustering/ has them (default: ${datasets.FOLDER})"
    jobs = {"type": at_least(1), "default": 2, "help": "processes, each with one thread (default: 2)"}
    data = {"required": False, "help": sets}
    add_options(parser, "seed", "quiet", data=data, out="clustering", jobs=jobs)
    parser.add_argument(
        "--datasets",
        nargs="+",
        metavar="SET",
        help="image sets to cluster (default: all that the folder has)",
    )
    parser.add_argument(
        "--fetch",
        nargs="+",
        default=[],
        metavar="SET",
        help=f"also download: {', '.join(datasets.FETCHED)}",
    )
    parser.add_argument(
        "--methods",
        nargs="+",
        choices=METHODS,
        metavar="NAME",
        help=f"some of {', '.join(METHODS)} (default: all that are installed)",
    )
    parser.add_argument(
        "--budget",
        type=at_least(1e-3, float),
        default=300,
        help="CPU seconds for one method on one set (default 300)",
    )
    parser.add_argument(
        "--quick", action="store_true", help="run each method with only one value of its parameter"
    )
    parser.add_argument(
        "--noise", metavar="SET", help="also cluster this set with noise up to 160 grey levels"
    )
    parser.add_argument("--noise-seeds", type=at_least(1), default=2, help="draws of the noise (default 2)")
    parser.add_argument(
        "--noise-repeat",
        type=at_least(1),
        default=1,
        help="first repeat each pixel this many times along both sides",
    )
    parser.add_argument(
        "--neighbors", type=at_least(1), default=20, help="K of the graph (default 20, the paper's)"
    )
    parser.add_argument(
        "--report", action="store_true", help="only make the tables again from clustering.csv"
    )


def run(args: argparse.Namespace) -> None:
    if not args.report:
        measure(args)
    write_report(args.out)


def measure(args: argparse.Namespace) -> None:
    """Write runs.csv and clustering.csv, and with --noise noise.csv."""
    methods = choose_methods(args.methods, args.neighbors)
    folder = datasets.find_folder(args.data)
    names = list(dict.fromkeys([*(args.datasets or datasets.available(folder)), *args.fetch]))
    for name in [*names, *([args.noise] if args.noise else [])]:
        datasets.check_name(name, folder, args.fetch)
    plan = Plan(tuple(map(Subject, names)), methods, args.budget, args.seed, args.neighbors, args.quick)
    journal = args.out / "runs.jsonl"
    rows = run_plan(plan, folder, journal, args.jobs, quiet=args.quiet)
    planned = {name: len(plan.values(name)) for name in methods}
    write_csv(args.out / "runs.csv", COLUMNS, rows)
    write_csv(args.out / "clustering.csv", image_report.COLUMNS, image_report.choose_best_rows(rows, planned))
    if args.noise:
        draws = [(s, i, args.noise_repeat) for i in range(args.noise_seeds) for s in SIGMAS]
        subjects = (Subject(args.noise), *(Subject(args.noise, *draw) for draw in draws))
        kept = tuple(name for name in methods if name in NOISE_METHODS)
        noisy = replace(plan, subjects=subjects, methods=kept)
        write_csv(
            args.out / "noise.csv", COLUMNS, run_plan(noisy, folder, journal, args.jobs, quiet=args.quiet)
        )


def choose_methods(names: list[str] | None, n_neighbors: int) -> tuple[str, ...]:
    """The named methods, in their order; by default, all that can run.

    These are installed, and need no more neighbours than the graph has. Those that are left out are named on
    standard error.
    """
    chosen = [name for name in METHODS if not names or name in names]
    missing = {name: METHODS[name].package[1] for name in chosen if not METHODS[name].is_installed()}
    if names and missing:
        name, package = next(iter(missing.items()))
        raise ValueError(f"{name} needs {package}: pip install gdl-match[eval]")
    for name, package in missing.items():
        print(f"eval images: without {name}, which needs {package}", file=sys.stderr)
    larger = {name: k for name in chosen if not names and (k := METHODS[name].n_neighbors or 0) > n_neighbors}
    for name, k in larger.items():
        print(f"eval images: without {name}, which needs --neighbors {k} or more", file=sys.stderr)
    return tuple(name for name in chosen if name not in {*missing, *larger})


def write_report(out: Path) -> None:
    """Write clustering.md from clustering.csv, and print it."""
    text = image_report.report(read_csv(out / "clustering.csv", image_report.COLUMNS))
    write_text(out / "clustering.md", text)
    print(text)
