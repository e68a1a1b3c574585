"""The image-clustering experiments: GDL and its rivals on image sets with known classes.

Writes runs.csv (a row for each method and value of its parameter), clustering.csv (the best of these) and
clustering.md. Without data, the sets are those that installed packages ship. A stopped run continues where it
stopped.
"""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
import sys
from dataclasses import replace
from pathlib import Path

from eval.common.options import check_folder, check_least, exit_status
from eval.common.tables import read_csv, write_csv, write_text
from eval.images import baselines, datasets
from eval.images import report as image_report
from eval.images.baselines import METHODS
from eval.images.runs import COLUMNS, Plan, Subject, run

NOISE_METHODS = ("g-link", "ncuts", "njw", "dgsc", "stsc", "zell", "gdl-u", "agdl", "gdl-mcs", "gdl-mcs-10")
SIGMAS = (40.0, 80.0, 120.0, 160.0)


def main(argv: list[str] | None = None) -> int:
    args = make_parser().parse_args(argv)

    def work():
        if not args.report:
            measure(args)
        write_report(args.out)

    return exit_status(work, stopped="stopped; run the same command again to continue")


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data",
        help=f"folder with <set>.npz, or whose subfolder clustering/ has them (default: ${datasets.FOLDER})",
    )
    parser.add_argument(
        "--out", type=Path, default=Path("clustering"), help="folder of the results (default: clustering)"
    )
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
        "--methods", nargs="+", metavar="NAME", help="methods to run (default: all that are installed)"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes, each with one thread (default 2)")
    parser.add_argument(
        "--budget", type=float, default=300, help="CPU seconds for one method on one set (default 300)"
    )
    parser.add_argument(
        "--quick", action="store_true", help="run each method with only one value of its parameter"
    )
    parser.add_argument(
        "--noise", metavar="SET", help="also cluster this set with noise up to 160 grey levels"
    )
    parser.add_argument("--noise-seeds", type=int, default=2, help="draws of the noise (default 2)")
    parser.add_argument(
        "--noise-repeat", type=int, default=1, help="first repeat each pixel this many times along both sides"
    )
    parser.add_argument("--neighbors", type=int, default=20, help="K of the graph (default 20, the paper's)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the methods' random choices (default 0)")
    parser.add_argument(
        "--report", action="store_true", help="only make the tables again from clustering.csv"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    return parser


def measure(args: argparse.Namespace) -> None:
    check_least(args, jobs=1, noise_seeds=1, noise_repeat=1, neighbors=1, budget=1e-3, seed=0)
    check_folder(args.out)
    methods = choose_methods(args.methods, args.neighbors)
    folder = datasets.find_folder(args.data)
    names = list(dict.fromkeys([*(args.datasets or datasets.available(folder)), *args.fetch]))
    for name in [*names, *([args.noise] if args.noise else [])]:
        datasets.check_name(name, folder, args.fetch)
    plan = Plan(tuple(map(Subject, names)), methods, args.budget, args.seed, args.neighbors, args.quick)
    journal = args.out / "runs.jsonl"
    rows = run(plan, folder, journal, args.jobs, quiet=args.quiet)
    planned = {name: len(plan.values(name)) for name in methods}
    write_csv(args.out / "runs.csv", COLUMNS, rows)
    write_csv(args.out / "clustering.csv", image_report.COLUMNS, image_report.choose_best_rows(rows, planned))
    if args.noise:
        draws = [(s, i, args.noise_repeat) for i in range(args.noise_seeds) for s in SIGMAS]
        subjects = (Subject(args.noise), *(Subject(args.noise, *draw) for draw in draws))
        kept = tuple(name for name in methods if name in NOISE_METHODS)
        noisy = replace(plan, subjects=subjects, methods=kept)
        write_csv(args.out / "noise.csv", COLUMNS, run(noisy, folder, journal, args.jobs, quiet=args.quiet))


def choose_methods(names: list[str] | None, n_neighbors: int) -> tuple[str, ...]:
    """The named methods, in their order; by default, all that can run.

    These are installed, and need no more neighbours than the graph has. Those that are left out are named on
    standard error.
    """
    baselines.check_names(tuple(names or ()))
    chosen = [name for name in METHODS if not names or name in names]
    missing = {name: METHODS[name].package[1] for name in chosen if not METHODS[name].is_installed()}
    if names and missing:
        name, package = next(iter(missing.items()))
        raise ValueError(f"{name} needs {package}: pip install gdl-match[eval]")
    for name, package in missing.items():
        print(f"cluster_images.py: without {name}, which needs {package}", file=sys.stderr)
    larger = {name: k for name in chosen if not names and (k := METHODS[name].n_neighbors or 0) > n_neighbors}
    for name, k in larger.items():
        print(f"cluster_images.py: without {name}, which needs --neighbors {k} or more", file=sys.stderr)
    return tuple(name for name in chosen if name not in {*missing, *larger})


def write_report(out: Path) -> None:
    text = image_report.report(read_csv(out / "clustering.csv", image_report.COLUMNS))
    write_text(out / "clustering.md", text)
    print(text)


if __name__ == "__main__":
    sys.exit(main())
