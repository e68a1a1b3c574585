"""The object-matching benchmark: AGDL and its rivals on composite pairs with exact truth.

Writes trials.csv (with a row for each trial and method), sweep.png and sweep.md. If it was stopped, run the
same command again to continue.
"""

import argparse
from pathlib import Path

from eval.common.options import add_options, at_least, choose_photographs
from eval.common.tables import read_csv, write_csv, write_text
from eval.matching.synthetic import methods, report, sweep
from synth.composite import GRID


def add_arguments(parser: argparse.ArgumentParser) -> None:
    trials = {"help": f"trials at each point (default: {sweep.N_TRIALS}, with --quick 2)"}
    add_options(parser, "models", "tiles", "jobs", "quiet", out="sweep", trials=trials)
    parser.add_argument("--quick", action="store_true", help="6 points, 2 trials each, all methods")
    parser.add_argument(
        "--first-seed",
        type=at_least(0),
        default=sweep.FIRST_SEED,
        help=f"seed of the first trial (default {sweep.FIRST_SEED})",
    )
    methods.add_methods_option(parser)
    parser.add_argument(
        "--copies",
        type=int,
        choices=range(1, GRID**2 + 1),
        default=1,
        metavar="N",
        help="how often each object is in the second image",
    )
    parser.add_argument("--hard", action="store_true", help="also turn, scale, relight and cover the objects")
    parser.add_argument(
        "--side", type=at_least(32), default=320, help="side of a tile in pixels (default 320)"
    )
    parser.add_argument("--report", action="store_true", help="only make the report again from trials.csv")


def run(args: argparse.Namespace) -> None:
    if not args.report:
        measure(args)
    write_report(args.out)


def measure(args: argparse.Namespace) -> None:
    """Write trials.csv."""
    n_trials = args.trials or (2 if args.quick else sweep.N_TRIALS)
    photographs = choose_photographs(args)
    make_points = sweep.quick_points if args.quick else sweep.full_points
    points = make_points(max_common=min(5, GRID**2 // args.copies))
    seeds = tuple(range(args.first_seed, args.first_seed + n_trials))
    names = tuple(name for name in methods.NAMES if name in args.methods)
    plan = sweep.Plan(points, seeds, names, args.copies, args.hard, args.side)
    rows = sweep.run(plan, photographs, args.out / "trials.jsonl", args.jobs, quiet=args.quiet)
    write_csv(args.out / "trials.csv", sweep.COLUMNS, rows)


def write_report(out: Path) -> None:
    """Write sweep.md and sweep.png from trials.csv, and print the tables."""
    rows = read_csv(out / "trials.csv", sweep.COLUMNS)
    for row in rows:
        if row["sweep"] not in sweep.SWEEPS:
            raise ValueError(f"sweep must be one of {', '.join(sweep.SWEEPS)}, got {row['sweep']}")
    text = report.summary(rows)
    write_text(out / "sweep.md", text)
    report.draw(rows, out / "sweep.png")
    print(text)
