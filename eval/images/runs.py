"""Runs of clustering methods on image sets, in processes within a budget; a stopped run can continue.

A run is one method with one value of its parameter on one set. Each method works through its values in a
separate process, on one thread; a process that exceeds the budget is ended, and its remaining values are
left out. The budget is CPU time if the system can measure it, so that a busy machine does not change results.
"""

import hashlib
import json
import shutil
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import scipy
import sklearn
from tqdm import tqdm

from eval.common import journal
from eval.images import datasets
from eval.images.baselines import METHODS
from eval.images.datasets import ImageSet
from eval.images.workers import OVER, Workers, finish, prepare, process_context
from matching import __version__

COLUMNS = (
    *("dataset", "sigma", "noise_seed", "repeat", "method", "value"),
    *("status", "nmi", "ce", "ari", "clusters"),
    *("seconds", "cpu_seconds", "search_seconds", "search_cpu_seconds"),
    "n_neighbors",
)


@dataclass(frozen=True, order=True)
class Subject:
    """A set to be clustered: its name, and the noise added to its images (grey levels, seed). Before that,
    each pixel is repeated `repeat` times along both sides.
    """

    dataset: str
    sigma: float = 0.0
    noise_seed: int = 0
    repeat: int = 1


@dataclass(frozen=True)
class Plan:
    """The runs that are planned.

    `budget` is the CPU seconds for all values of one method on one set, after the search for neighbours.
    `quick` runs the first value of each method only. Raises ValueError if a method has a K of its own
    above `n_neighbors`.
    """

    subjects: tuple[Subject, ...]
    methods: tuple[str, ...]
    budget: float = 300.0
    seed: int = 0
    n_neighbors: int = 20
    quick: bool = False

    def __post_init__(self):
        for name in self.methods:
            if self.n_neighbors < (METHODS[name].n_neighbors or 0):
                least = f"at least {METHODS[name].n_neighbors} for {name}"
                raise ValueError(f"n_neighbors must be {least}, got {self.n_neighbors}")

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
            done = read_finished(journal.read_entries(path, mark))
            todo = {name: left for name in plan.methods if (left := _left(plan, name, done))}
            bar.update(total // len(plan.subjects) - sum(map(len, todo.values())))
            bar.set_postfix_str(subject.dataset)
            for name, row in _measure_runs(images, plan, todo, n_jobs, bar):
                journal.append_entry(path, mark, method=name, row=row)
                done.setdefault(name, {})[row["value"]] = row
            rows += _order_runs(subject, plan, done)
    return rows


def _check_neighbors(images, plan):
    if not 1 <= plan.n_neighbors < len(images):
        most = f"[1, {len(images) - 1}] for the {len(images)} samples of {images.name}"
        raise ValueError(f"n_neighbors must be in {most}, got {plan.n_neighbors}")


def fingerprint(images: ImageSet, plan: Plan) -> str:
    """A digest of what a set's rows depend on: its data, the graph's K, the seed, versions."""
    versions = __version__, np.__version__, scipy.__version__, sklearn.__version__
    text = json.dumps([images.digest(), plan.seed, plan.n_neighbors, *versions])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read_finished(entries: Iterable[dict]) -> dict[str, dict]:
    """{method: {value: row}}; a finished run takes precedence over one that exceeded the budget."""
    done: dict[str, dict] = {}
    for entry in entries:
        values = done.setdefault(entry["method"], {})
        value = entry["row"]["value"]
        if value not in values or values[value]["status"] == OVER:
            values[value] = entry["row"]
    return done


def _left(plan, name, done):
    """The values of a method that are still to be run; none if a budget of this size has already been too
    small.
    """
    rows = done.get(name, {})
    if any(row["status"] == OVER and row["seconds"] >= plan.budget for row in rows.values()):
        return ()
    return tuple(v for v in plan.values(name) if v not in rows or rows[v]["status"] == OVER)


def _order_runs(subject, plan, done):
    for name in plan.methods:
        for value in sorted(plan.values(name), key=lambda v: (v is None, v)):
            if row := done.get(name, {}).get(value):
                k = METHODS[name].n_neighbors or plan.n_neighbors
                yield {**asdict(subject), "method": name, **row, "n_neighbors": k}


def _measure_runs(images: ImageSet, plan: Plan, todo: dict, n_jobs: int, bar: tqdm):
    """(method, row) of every run, in the order in which the runs finish."""
    if not todo:
        return
    scratch = Path(mkdtemp(prefix="clustering-"))
    try:
        np.save(scratch / "features.npy", images.features())
        dense = images.metric != "euclidean" or any(METHODS[name].dense for name in todo)
        work = (scratch, images.metric, images.n_clusters, plan.n_neighbors, plan.seed)
        context = process_context()
        finish(context.Process(target=prepare, args=(*work, dense)))
        waiting = list(todo.items())
        with Workers(context, work, images.labels, plan.budget) as workers:
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
