"""What a collection costs and survives, on the product fronts and shelves of $GDL_DATA: throughput of two
processes against one, cost of a pair against a single match, a run killed three times against an undisturbed
one.

python scripts/bench_collection.py $GDL_DATA [--pairs N] [--kills 3]
"""

import argparse
import itertools
import json
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from distributed import Client

from matching import match

SCRIPT = Path(__file__).with_name("match_collection.py")
TABLES = ("settings", "images", "pairs", "objects", "matches")  # all but the timings


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--pairs", type=int, default=10**9, help="at most so many pairs")
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--single", type=int, default=40, help="pairs that are also matched one by one")
    parser.add_argument("--cluster", action="store_true", help="also on a Dask cluster that loses a worker")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    pairs = collection(arguments.data)[: arguments.pairs]
    print(f"{len(pairs)} pairs of {len({p for pair in pairs for p in pair})} pictures")
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "pairs.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in pairs))
        runs = {jobs: timed(folder, f"jobs{jobs}", jobs) for jobs in (1, 2)}
        seconds = {jobs: wall for jobs, (wall, _) in runs.items()}
        for jobs, (wall, cpu) in runs.items():
            print(f"{jobs} jobs: {wall:.1f} s, {cpu:.1f} s of processor time, {cpu / wall:.2f} processors")
        print(f"2 jobs do {seconds[1] / seconds[2]:.2f} times as many pairs a second as 1")
        single = seconds_of_single_matches(pairs, arguments.single, arguments.seed)
        for jobs in (1, 2):
            each = seconds[jobs] / len(pairs)
            print(f"a pair with {jobs} jobs {each:.3f} s, match() {single:.3f} s: {each / single:.2f}")
        killed(folder, arguments.kills, seconds[2], random.Random(arguments.seed))
        print("equal databases:", content(folder / "jobs2.db") == content(folder / "killed.db"))
        if arguments.cluster:
            on_cluster(folder, seconds[2], random.Random(arguments.seed))
            print("equal databases:", content(folder / "jobs2.db") == content(folder / "cluster.db"))


def collection(data):
    """All pairs of product fronts, and each front with each shelf."""
    fronts = sorted((data / "models").glob("*.jpg"))
    shelves = sorted((data / "scenes").glob("*.jpg"))
    return [*itertools.combinations(fronts, 2), *itertools.product(fronts, shelves)]


def command(folder, name, *how):
    """The command line of one run, with a cache of its own."""
    return [
        *(sys.executable, SCRIPT, "--pairs", folder / "pairs.tsv", "--db", folder / f"{name}.db"),
        *("--cache", folder / f"{name}-cache", "--quiet", *how),
    ]


def timed(folder, name, jobs):
    """Seconds of an undisturbed run, the start of its processes included; and of processor time."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command(folder, name, "--jobs", str(jobs)), check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    wall = time.perf_counter() - start
    return wall, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def killed(folder, kills, seconds, rng):
    """A run killed at random moments, then left to end."""
    for _ in range(kills):
        run = subprocess.Popen(command(folder, "killed", "--jobs", "2"), stdout=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.05, 0.9) * seconds / kills)
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
        with sqlite3.connect(folder / "killed.db") as db:
            print(
                "killed with", *db.execute("SELECT count(*) FROM pairs WHERE status = 'matched'").fetchone()
            )
    timed(folder, "killed", 2)


def on_cluster(folder, seconds, rng):
    """A run on a scheduler with two worker processes, one of them killed at a random moment."""
    file = folder / "scheduler.json"
    options = "--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", file
    workers = "--nthreads", "1", "--no-nanny", "--local-directory", folder
    kinds = {"scheduler": ("--port", "0"), "worker": workers, "other": workers}
    processes = {
        name: subprocess.Popen(
            [
                sys.executable,
                "-m",
                f"distributed.cli.dask_{name.replace('other', 'worker')}",
                *options,
                *more,
            ],
            stderr=subprocess.DEVNULL,
        )
        for name, more in kinds.items()
    }
    try:
        while not file.exists() or not file.read_text():
            time.sleep(0.1)
        address = json.loads(file.read_text())["address"]
        with Client(address) as client:
            client.wait_for_workers(2)
        run = subprocess.Popen(command(folder, "cluster", "--scheduler", address), stdout=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.2, 0.8) * seconds)
        processes["other"].kill()
        with sqlite3.connect(folder / "cluster.db") as db:
            (n,) = db.execute("SELECT count(*) FROM pairs WHERE status = 'matched'").fetchone()
        print("cluster: a worker killed with", n, "pairs matched; status", run.wait())
    finally:
        for process in processes.values():
            process.kill()


def seconds_of_single_matches(pairs, n, seed):
    """Mean seconds of match() on some of the pairs, with all processors."""
    chosen = random.Random(seed).sample(pairs, min(n, len(pairs)))
    match(*chosen[0])  # compiled code is loaded
    start = time.perf_counter()
    for pair in chosen:
        match(*pair)
    return (time.perf_counter() - start) / len(chosen)


def content(path):
    """All rows of a database but its timings."""
    with sqlite3.connect(path) as db:
        return [db.execute(f"SELECT * FROM {table}").fetchall() for table in TABLES]


if __name__ == "__main__":
    main()
