"""What a collection costs: throughput of two processes against one, and a pair against a single match().

The pairs are those of the product fronts and shelves in models/ and scenes/. Runs alternate. Needs Linux or
macOS.
"""

import argparse
import itertools
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from eval.common.options import add_options, at_least
from matching import match

SCRIPT = Path(__file__).parents[2] / "scripts" / "match_collection.py"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, "data", "seed", pairs={"default": 513, "help": "pairs (default: 513, all)"})
    parser.add_argument(
        "--single",
        type=at_least(1),
        default=16,
        help="how many of these are also matched one by one (default: 16)",
    )
    parser.add_argument("--rounds", type=at_least(1), default=1, help="rounds (default: 1)")


def run(args: argparse.Namespace) -> None:
    pairs = list_pairs(args.data)
    chosen = sorted(random.Random(args.seed).sample(pairs, min(args.pairs, len(pairs))))
    some = chosen[:: max(len(chosen) // args.single, 1)]
    print(f"{len(chosen)} pairs of {len({p for pair in chosen for p in pair})} pictures")
    match(*some[0])  # so that compiled code is loaded
    ratios = []
    for _ in range(args.rounds):
        one, two = (time_collection(chosen, jobs) for jobs in (1, 2))
        start = now()
        for pair in some:
            match(*pair)
        single = Used(start, now(), len(some))
        print(f"1 job {one}, 2 jobs {two}, match() {single}")
        print(f"    2 jobs keep {two.cpu / two.wall:.2f} processors busy, 1 job {one.cpu / one.wall:.2f}")
        ratios.append(
            (one.wall / two.wall, two.wall / single.wall, two.cpu / single.cpu, one.cpu / single.cpu)
        )
    many, cost, cpu2, cpu1 = (median(column) for column in zip(*ratios, strict=True))
    print(f"medians: 2 jobs do {many:.2f} times as many pairs a second as 1;")
    print(f"a pair of a collection with 2 jobs takes {cost:.2f} of the time of a match(), and of processor")
    print(f"time {cpu2:.2f}, with 1 job {cpu1:.2f}")


def list_pairs(data):
    """All pairs of product fronts, and each front with each shelf."""
    fronts, shelves = (sorted((data / name).glob("*.jpg")) for name in ("models", "scenes"))
    pairs = [*itertools.combinations(fronts, 2), *itertools.product(fronts, shelves)]
    if not pairs:
        raise ValueError(f"{data} must hold models/*.jpg, and two of them or scenes/*.jpg, found no pair")
    return pairs


class Used:
    """Seconds a pair on the clock (wall) and of processor time (cpu)."""

    def __init__(self, start, end, n):
        self.wall, self.cpu = ((after - before) / n for before, after in zip(start, end, strict=True))

    def __str__(self):
        return f"{self.wall:.3f} s a pair ({self.cpu:.3f} s of processor time)"


def now():
    """Seconds on the clock, and of processor time of this process and its children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return time.perf_counter(), sum(u.ru_utime + u.ru_stime for u in used)


def time_collection(pairs, jobs):
    """Time a collection with nothing in its cache, including the start of its processes."""
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder, "pairs.tsv")
        listed.write_text("".join(f"{a}\t{b}\n" for a, b in pairs))
        options = ["--db", Path(folder, "c.db"), "--cache", Path(folder, "cache"), "--jobs", str(jobs)]
        start = now()
        subprocess.run(
            [sys.executable, SCRIPT, "--pairs", listed, *options, "--quiet"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        return Used(start, now(), len(pairs))
