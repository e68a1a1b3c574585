"""What a collection costs, and what it survives, measured on the product fronts and shelves of $GDL_DATA.

speed: throughput of two processes against one, and cost of a pair against a single match(), in alternating
    runs on some of the pairs
killed: all pairs in a run killed several times, against an undisturbed one
cluster: all pairs on a Dask cluster of two workers, one of which is killed, against the same undisturbed run

python scripts/collection/bench_collection.py $GDL_DATA speed killed cluster    # needs Linux or macOS
"""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
import itertools
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from eval.common.options import check_least, exit_status

SCRIPT = Path(__file__).parents[1] / "match_collection.py"
TABLES = ("settings", "images", "pairs", "objects", "matches")  # all except the timings
PARTS = ("speed", "killed", "cluster")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="folder that holds models and scenes")
    parser.add_argument(
        "parts",
        nargs="+",
        choices=PARTS,
        metavar="PART",
        help="speed: time and processor time; killed: a run that is killed and continued; "
        "cluster: a Dask cluster that loses a worker",
    )
    parser.add_argument("--pairs", type=int, default=513, help="pairs for speed (default: 513, all)")
    parser.add_argument(
        "--single", type=int, default=16, help="how many of these are also matched one by one (default: 16)"
    )
    parser.add_argument("--rounds", type=int, default=1, help="rounds of speed (default: 1)")
    parser.add_argument("--kills", type=int, default=3, help="how often the run is killed (default: 3)")
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        help="seed for the choice of pairs and of the times at which processes are killed (default: 0)",
    )
    arguments = parser.parse_args(argv)
    return exit_status(lambda: measure(arguments))


def measure(arguments):
    check_least(arguments, pairs=1, single=1, rounds=1, kills=1)
    rng = random.Random(arguments.seed)
    pairs = collection(arguments.data)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        if "speed" in arguments.parts:
            chosen = sorted(rng.sample(pairs, min(arguments.pairs, len(pairs))))
            measure_speed(
                folder, chosen, chosen[:: max(len(chosen) // arguments.single, 1)], arguments.rounds
            )
        if {"killed", "cluster"} & {*arguments.parts}:
            write_list(folder, pairs)
            seconds = time_run(folder, "undisturbed", 2).wall
            print(f"undisturbed, 2 jobs: {seconds:.0f} s; {counts(folder / 'undisturbed.db')}")
        if "killed" in arguments.parts:
            kill_and_finish(folder, arguments.kills, seconds, rng)
            compare(folder, "killed")
        if "cluster" in arguments.parts:
            on_cluster(folder, seconds, rng)
            compare(folder, "cluster")


def collection(data):
    """All pairs of product fronts, and each front with each shelf."""
    fronts = sorted((data / "models").glob("*.jpg"))
    shelves = sorted((data / "scenes").glob("*.jpg"))
    pairs = [*itertools.combinations(fronts, 2), *itertools.product(fronts, shelves)]
    if not pairs:
        raise ValueError(f"{data} must hold models/*.jpg, and two of them or scenes/*.jpg, found no pair")
    return pairs


def write_list(folder, pairs):
    (folder / "pairs.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in pairs))
    print(f"{len(pairs)} pairs of {len({p for pair in pairs for p in pair})} pictures")


def command(folder, name, *how):
    """The command line of one run, with a cache of its own."""
    return [
        *(sys.executable, SCRIPT, "--pairs", folder / "pairs.tsv", "--db", folder / f"{name}.db"),
        *("--cache", folder / f"{name}-cache", "--quiet", *how),
    ]


class Used:
    """Seconds on the clock (wall) and seconds of processor time (cpu) that some number of pairs took."""

    def __init__(self, start, end, n):
        self.n = n
        self.wall, self.cpu = (after - before for before, after in zip(start, end, strict=True))

    def __str__(self):
        return f"{self.wall / self.n:.3f} s a pair ({self.cpu / self.n:.3f} s of processor time)"


def now():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return time.perf_counter(), sum(u.ru_utime + u.ru_stime for u in used)


def time_run(folder, name, jobs, n=1):
    """Time an undisturbed run, including the start of its processes."""
    start = now()
    subprocess.run(command(folder, name, "--jobs", str(jobs)), check=True, stdout=subprocess.DEVNULL)
    return Used(start, now(), n)


def measure_speed(folder, pairs, some, rounds):
    """Measure rounds of a run with 1 job, a run with 2 jobs, and single matches."""
    from matching import match

    write_list(folder, pairs)
    match(*some[0])  # so that compiled code is loaded
    ratios = []
    for _ in range(rounds):
        one, two = (time_afresh(folder, jobs, len(pairs)) for jobs in (1, 2))
        start = now()
        for pair in some:
            match(*pair)
        single = Used(start, now(), len(some))
        print(f"1 job {one}, 2 jobs {two}, match() {single}")
        print(f"    2 jobs keep {two.cpu / two.wall:.2f} processors busy, 1 job {one.cpu / one.wall:.2f}")
        costs = one.cpu / one.n / (single.cpu / single.n), two.cpu / two.n / (single.cpu / single.n)
        ratios.append((one.wall / two.wall, two.wall / two.n / (single.wall / single.n), *costs))
    many, cost, cpu1, cpu2 = (median(column) for column in zip(*ratios, strict=True))
    print(f"medians: 2 jobs do {many:.2f} times as many pairs a second as 1;")
    print(f"a pair of a collection with 2 jobs takes {cost:.2f} of the time of a match(), and of processor")
    print(f"time {cpu2:.2f}, with 1 job {cpu1:.2f}")


def time_afresh(folder, jobs, n):
    """As `time_run`, with nothing in the cache."""
    used = time_run(folder, "speed", jobs, n)
    shutil.rmtree(folder / "speed-cache")
    (folder / "speed.db").unlink()
    return used


def kill_and_finish(folder, kills, seconds, rng):
    """A run killed at random moments, then left to end."""
    for _ in range(kills):
        run = subprocess.Popen(command(folder, "killed", "--jobs", "2"), stdout=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.05, 0.9) * seconds / kills)
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
        print(f"killed: {counts(folder / 'killed.db')}")
    time_run(folder, "killed", 2)


def on_cluster(folder, seconds, rng):
    """A run on a scheduler with two worker processes, one of them killed at a random moment."""
    from distributed import Client

    file = folder / "scheduler.json"
    options = "--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", file
    workers = "--nthreads", "1", "--no-nanny", "--local-directory", folder
    kinds = [("scheduler", ("--port", "0")), ("worker", workers), ("worker", workers)]
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{kind}", *options, *more], stderr=subprocess.DEVNULL
        )
        for kind, more in kinds
    ]
    try:
        while not file.exists() or not file.read_text():
            time.sleep(0.1)
        address = json.loads(file.read_text())["address"]
        with Client(address) as client:
            client.wait_for_workers(2)
        run = subprocess.Popen(command(folder, "cluster", "--scheduler", address), stdout=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.2, 0.8) * seconds)
        processes[-1].kill()
        print(f"cluster, a worker killed: {counts(folder / 'cluster.db')}")
        print("cluster: exit status", run.wait())
    finally:
        for process in processes:
            process.kill()


def counts(db):
    """How far a database is, in words."""
    with sqlite3.connect(db) as connection:
        query = (
            "SELECT count(*), total(status = 'matched'), total(n_objects > 0), total(n_objects) FROM pairs"
        )
        ((n, done, found, objects),) = connection.execute(query)
    return f"{done:.0f} of {n} pairs matched, {found:.0f} with {objects:.0f} objects"


def compare(folder, name):
    equal = content(folder / "undisturbed.db") == content(folder / f"{name}.db")
    print(
        f"{name}: {counts(folder / f'{name}.db')}; the database is", "identical" if equal else "ANOTHER ONE"
    )


def content(path):
    """All rows of a database except its timings."""
    with sqlite3.connect(path) as db:
        return [db.execute(f"SELECT * FROM {table}").fetchall() for table in TABLES]


if __name__ == "__main__":
    sys.exit(main())
