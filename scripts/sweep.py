"""The object-matching benchmark: AGDL and its rivals on composite pairs with exact truth.

Writes trials.csv (with a row for each trial and method), sweep.png and sweep.md. A stopped run continues
where it stopped.
"""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
import sys
from pathlib import Path

from eval.common.options import (
    add_photograph_options,
    check_between,
    check_folder,
    check_jobs,
    check_least,
    choose_photographs,
    exit_status,
)
from eval.common.tables import read_csv, write_csv, write_text
from eval.matching.synthetic import methods, report, sweep
from synth.composite import GRID


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
        "--out", type=Path, default=Path("sweep"), help="folder of the results (default: sweep)"
    )
    add_photograph_options(parser)
    parser.add_argument("--quick", action="store_true", help="6 points, 2 trials each, all methods")
    parser.add_argument(
        "--trials", type=int, help=f"trials at each point (default {sweep.N_TRIALS}, with --quick 2)"
    )
    parser.add_argument(
        "--first-seed",
        type=int,
        default=sweep.FIRST_SEED,
        help=f"seed of the first trial (default {sweep.FIRST_SEED})",
    )
    parser.add_argument("--jobs", type=int, default=-1, help="processes (default: one for each core)")
    parser.add_argument(
        "--methods",
        nargs="+",
        default=list(methods.NAMES),
        metavar="NAME",
        help=f"some of {', '.join(methods.NAMES)} (default: all)",
    )
    parser.add_argument("--copies", type=int, default=1, help="how often each object is in the second image")
    parser.add_argument("--hard", action="store_true", help="also turn, scale, relight and cover the objects")
    parser.add_argument("--side", type=int, default=320, help="side of a tile in pixels (default 320)")
    parser.add_argument("--report", action="store_true", help="only make the report again from trials.csv")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    return parser


def measure(args: argparse.Namespace) -> None:
    check_least(args, trials=1, first_seed=0, side=32)
    check_between(args, copies=(1, GRID**2))
    check_jobs(args)
    check_folder(args.out)
    methods.check_names(tuple(args.methods))
    n_trials = args.trials if args.trials is not None else 2 if args.quick else sweep.N_TRIALS
    photographs = choose_photographs(args)
    make_points = sweep.quick_points if args.quick else sweep.full_points
    points = make_points(max_common=min(5, GRID**2 // args.copies))
    seeds = tuple(range(args.first_seed, args.first_seed + n_trials))
    names = tuple(name for name in methods.NAMES if name in args.methods)
    plan = sweep.Plan(points, seeds, names, args.copies, args.hard, args.side)
    rows = sweep.run(plan, photographs, args.out / "trials.jsonl", args.jobs, quiet=args.quiet)
    write_csv(args.out / "trials.csv", sweep.COLUMNS, rows)


def write_report(out: Path) -> None:
    rows = read_csv(out / "trials.csv", sweep.COLUMNS)
    for row in rows:
        if row["sweep"] not in sweep.SWEEPS:
            raise ValueError(f"sweep must be one of {', '.join(sweep.SWEEPS)}, got {row['sweep']}")
    text = report.summary(rows)
    write_text(out / "sweep.md", text)
    report.draw(rows, out / "sweep.png")
    print(text)


if __name__ == "__main__":
    sys.exit(main())
