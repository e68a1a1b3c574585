"""Runs of clustering methods on image sets: in processes that can be stopped, within a budget, resumable.

A run is one method with one value of its parameter on one set. Each method works through its values in a
process of its own, on one thread; a process that is over the budget is ended and its remaining values are
left out. The budget is CPU time where the system can count it, so that a busy machine changes no result.
"""

import hashlib
import json
import multiprocessing
import shutil
import signal
import time
import traceback
import warnings
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import scipy
import sklearn
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from eval import datasets, journal
from eval.baselines import METHODS
from eval.baselines.problem import Clock, Problem, Stages
from eval.baselines.spectral import NoConvergence
from eval.datasets import ImageSet
from eval.partitions import agreement
from matching import __version__

CPU_TIMER = hasattr(signal, "setitimer")
OK, OVER, FAILED = "ok", "over budget", "no convergence"
COLUMNS = (
    *("dataset", "sigma", "noise_seed", "repeat", "method", "value"),
    *("status", "nmi", "ce", "ari", "clusters"),
    *("seconds", "cpu_seconds", "search_seconds", "search_cpu_seconds"),
)


@dataclass(frozen=True, order=True)
class Subject:
    """A set as it is clustered: its name, and the noise added to its images (grey levels, seed), each pixel
    repeated `repeat` times along both sides before.
    """

    dataset: str
    sigma: float = 0.0
    noise_seed: int = 0
    repeat: int = 1


@dataclass(frozen=True)
class Plan:
    """What is to be run.

    `budget` are CPU seconds for all values of one method on one set, after the search for neighbours.
    `quick` runs the first value of each method only.
    """

    subjects: tuple[Subject, ...]
    methods: tuple[str, ...]
    budget: float = 300.0
    seed: int = 0
    n_neighbors: int = 20
    quick: bool = False

    def values(self, method: str) -> tuple[float | None, ...]:
        values = METHODS[method].values
        return values[:1] if self.quick else values


def run(plan: Plan, folder: Path | None, path: Path, n_jobs: int, *, quiet: bool = False) -> list[dict]:
    """All rows of the plan (COLUMNS), by set, method and value; what the journal holds is not run again."""
    rows = []
    total = len(plan.subjects) * sum(len(plan.values(name)) for name in plan.methods)
    with tqdm(total=total, desc="runs", disable=quiet) as bar:
        for subject in plan.subjects:
            noise = subject.sigma, subject.noise_seed, subject.repeat
            images = datasets.load(subject.dataset, folder).with_noise(*noise)
            _check_neighbors(images, plan)
            mark = fingerprint(images, plan)
            done = finished(journal.read_entries(path, mark))
            todo = {name: left for name in plan.methods if (left := _left(plan, name, done))}
            bar.update(total // len(plan.subjects) - sum(map(len, todo.values())))
            bar.set_postfix_str(subject.dataset)
            for name, row in _measured(images, plan, todo, n_jobs, bar):
                journal.append_entry(path, mark, method=name, row=row)
                done.setdefault(name, {})[row["value"]] = row
            rows += _ordered(subject, plan, done)
    return rows


def _check_neighbors(images, plan):
    if not 1 <= plan.n_neighbors < len(images):
        most = f"[1, {len(images) - 1}] for the {len(images)} samples of {images.name}"
        raise ValueError(f"n_neighbors must be in {most}, got {plan.n_neighbors}")


def fingerprint(images: ImageSet, plan: Plan) -> str:
    """What decides a set's rows: its data, the graph's K, the seed, versions."""
    versions = __version__, np.__version__, scipy.__version__, sklearn.__version__
    text = json.dumps([images.digest(), plan.seed, plan.n_neighbors, *versions])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def finished(entries: Iterable[dict]) -> dict[str, dict]:
    """{method: {value: row}}; a finished run stands before one that was over the budget."""
    done: dict[str, dict] = {}
    for entry in entries:
        values = done.setdefault(entry["method"], {})
        value = entry["row"]["value"]
        if value not in values or values[value]["status"] == OVER:
            values[value] = entry["row"]
    return done


def _left(plan, name, done):
    """The values of a method that are still to be run; none once a budget as large was too small."""
    rows = done.get(name, {})
    if any(row["status"] == OVER and row["seconds"] >= plan.budget for row in rows.values()):
        return ()
    return tuple(v for v in plan.values(name) if v not in rows or rows[v]["status"] == OVER)


def _ordered(subject, plan, done):
    for name in plan.methods:
        for value in sorted(plan.values(name), key=lambda v: (v is None, v)):
            if row := done.get(name, {}).get(value):
                yield {**asdict(subject), "method": name, **row}


def _measured(images: ImageSet, plan: Plan, todo: dict, n_jobs: int, bar: tqdm):
    """(method, row) of every run, as they finish."""
    if not todo:
        return
    scratch = Path(mkdtemp(prefix="clustering-"))
    try:
        np.save(scratch / "features.npy", images.features())
        dense = images.metric != "euclidean" or any(METHODS[name].dense for name in todo)
        work = (scratch, images.metric, images.n_clusters, plan.n_neighbors, plan.seed)
        context = _context()
        _finish(context.Process(target=_prepare, args=(*work, dense)))
        waiting = list(todo.items())
        with _Workers(context, work, images.labels, plan.budget) as workers:
            while waiting or workers.active:
                while waiting and len(workers.active) < n_jobs:
                    workers.start(*waiting.pop(0))
                for name, row in workers.rows():
                    if row is None:
                        bar.update(len(todo[name]) - workers.counted.pop(name, 0))
                    else:
                        yield name, row
                        workers.counted[name] = workers.counted.get(name, 0) + 1
                        bar.update(1)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _context():
    """Processes that start quickly, from one that has imported all this; where there is no fork, plain
    new ones.
    """
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(method)
    if method == "forkserver":
        context.set_forkserver_preload(["eval.image_runs"])
    return context


def _finish(process):
    process.start()
    process.join()
    if process.exitcode:
        raise RuntimeError(f"the search for neighbours ended with exit code {process.exitcode}")


class _Workers:
    """The running processes; leaving the context ends them."""

    def __init__(self, context, work, truth, budget):
        self.context, self.work, self.truth, self.budget = context, work, truth, budget
        self.active: dict[Connection, list] = {}  # [method, process, values left, time it began or None]
        self.counted: dict[str, int] = {}

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        for _, process, _, _ in self.active.values():
            process.kill()
            process.join()

    def start(self, name, values):
        ours, theirs = self.context.Pipe(duplex=False)
        process = self.context.Process(
            target=_work, args=(theirs, *self.work, self.truth, name, values, self.budget)
        )
        process.start()
        theirs.close()
        self.active[ours] = [name, process, list(values), None]

    def rows(self):
        """(method, row) of what has finished by now, (method, None) for a process that ended."""
        began = [began for *_, began in self.active.values() if began is not None]
        patience = max(0.0, min(began) + self.budget - time.monotonic()) if began and not CPU_TIMER else None
        ready = wait(list(self.active), patience)
        for connection in ready:
            yield from self._receive(connection)
        for connection, (name, process, left, began) in list(self.active.items()):
            if began is not None and not CPU_TIMER and time.monotonic() - began > self.budget:
                process.kill()
                yield name, self._over(left)
                yield from self._end(connection)

    def _over(self, left):
        return {"value": left[0], "status": OVER, "seconds": self.budget}

    def _receive(self, connection):
        worker = self.active[connection]
        try:
            message = connection.recv()
        except EOFError:
            name, process, left, _ = worker
            process.join()
            if CPU_TIMER and process.exitcode == -signal.SIGPROF:
                yield name, self._over(left)
            elif left:
                raise RuntimeError(f"{name}: the process ended with exit code {process.exitcode}") from None
            yield from self._end(connection)
            return
        if isinstance(message, str):
            raise RuntimeError(f"{worker[0]} failed:\n{message}")
        if message is None:
            worker[3] = time.monotonic()
        else:
            worker[2].remove(message["value"])
            yield worker[0], message

    def _end(self, connection):
        name, process, _, _ = self.active.pop(connection)
        process.join()
        connection.close()
        yield name, None


def _prepare(scratch, metric, n_clusters, n_neighbors, seed, dense):
    with threadpool_limits(1):
        _warm_up("gdl-u", 1.0, metric)
        problem = _problem(scratch, metric, n_clusters, n_neighbors, seed)
        if dense:
            problem.distances()
        problem.knn()


def _problem(scratch, metric, n_clusters, n_neighbors, seed):
    features = np.load(scratch / "features.npy", mmap_mode="r")
    return Problem(np.asarray(features), metric, n_clusters, Stages(scratch), n_neighbors, seed)


def _work(connection, scratch, metric, n_clusters, n_neighbors, seed, truth, name, values, budget):
    """Sends None once it is warm, then a row for each value; a traceback as text for an error."""
    try:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _warm_up(name, values[0], metric)
            connection.send(None)
            if CPU_TIMER:
                signal.setitimer(signal.ITIMER_PROF, budget)  # its signal ends the process, whatever it does
            for value in values:
                problem = _problem(scratch, metric, n_clusters, n_neighbors, seed)
                connection.send(measure(problem, truth, name, value))
    except Exception:
        connection.send(traceback.format_exc())
    finally:
        connection.close()


def _warm_up(name, value, metric):
    """Imports and compiles what the method needs on three small clumps, so that this is not timed."""
    rng = np.random.default_rng(0)
    features = np.concatenate([rng.normal(10 * c, 1, (20, 2)) for c in range(1, 4)])
    scratch = Path(mkdtemp(prefix="clustering-"))
    try:
        features = np.abs(features).astype(np.float32)
        METHODS[name].run(Problem(features, metric, 3, Stages(scratch), 5), value)
    except NoConvergence:
        pass
    finally:
        shutil.rmtree(scratch)


def measure(problem: Problem, truth, name: str, value: float | None) -> dict:
    """One run: the value, how it went, how good the labels are, and seconds with and without the search."""
    status, found = OK, {}
    with Clock() as clock:
        try:
            labels = METHODS[name].run(problem, value)
        except NoConvergence:
            status = FAILED
    if status == OK:
        quality = agreement(truth, labels)
        found = {"nmi": quality.nmi, "ce": quality.ce, "ari": quality.ari, "clusters": quality.n_clusters}
    search, shared = problem.stages.search, problem.stages.shared
    return {
        "value": value,
        "status": status,
        **found,
        "seconds": clock.wall + shared.wall + search.wall,
        "cpu_seconds": clock.cpu + shared.cpu + search.cpu,
        "search_seconds": search.wall,
        "search_cpu_seconds": search.cpu,
    }
