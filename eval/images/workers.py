"""The processes of the image runs: each works through one method's values, on one thread, within a budget.

The budget holds where the system can measure CPU time, that is, on Linux and macOS.
"""

import multiprocessing
import shutil
import signal
import traceback
import warnings
from multiprocessing.connection import Connection, wait
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
from threadpoolctl import threadpool_limits

from eval.images.baselines import METHODS
from eval.images.baselines.problem import Clock, Problem, Stages
from eval.images.baselines.spectral import NoConvergence
from eval.images.partitions import agreement

CPU_TIMER = hasattr(signal, "setitimer")
OK, OVER, FAILED = "ok", "over budget", "no convergence"


def process_context():
    """Processes that start quickly, because they are forked from one that has imported all modules; ordinary
    new processes if the system has no fork.
    """
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(method)
    if method == "forkserver":
        context.set_forkserver_preload(["eval.images.workers"])
    return context


def finish(process):
    """Run a process to its end. Raises RuntimeError if it fails."""
    process.start()
    process.join()
    if process.exitcode:
        raise RuntimeError(f"the search for neighbours ended with exit code {process.exitcode}")


class Workers:
    """The running processes; leaving the context ends them."""

    def __init__(self, context, work, truth, budget):
        self.context, self.work, self.truth, self.budget = context, work, truth, budget
        self.active: dict[Connection, list] = {}  # [method, process, values left]
        self.counted: dict[str, int] = {}

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        for _, process, _ in self.active.values():
            process.kill()
            process.join()

    def start(self, name, values):
        ours, theirs = self.context.Pipe(duplex=False)
        process = self.context.Process(
            target=_work, args=(theirs, *self.work, self.truth, name, values, self.budget)
        )
        process.start()
        theirs.close()
        self.active[ours] = [name, process, list(values)]

    def rows(self):
        """(method, row) of each run finished by now, (method, None) for a process that ended."""
        for connection in wait(list(self.active)):
            yield from self._receive(connection)

    def _receive(self, connection):
        worker = self.active[connection]
        try:
            message = connection.recv()
        except EOFError:
            name, process, left = worker
            process.join()
            if CPU_TIMER and process.exitcode == -signal.SIGPROF:
                yield name, {"value": left[0], "status": OVER, "seconds": self.budget}
            elif left:
                raise RuntimeError(f"{name}: the process ended with exit code {process.exitcode}") from None
            yield from self._end(connection)
            return
        if isinstance(message, str):
            raise RuntimeError(f"{worker[0]} failed:\n{message}")
        worker[2].remove(message["value"])
        yield worker[0], message

    def _end(self, connection):
        name, process, _ = self.active.pop(connection)
        process.join()
        connection.close()
        yield name, None


def prepare(scratch, metric, n_clusters, n_neighbors, seed, dense):
    """Compute the neighbours, and the distances if a method needs them, into files that all runs share."""
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
    """Send a row for each value, or the text of a traceback."""
    try:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _warm_up(name, values[0], metric)
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
    """Run the method on three small clumps, so that imports and compilation are not timed."""
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
    """One run: the value, the status, how good the labels are, and seconds with and without the search."""
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
