"""Where the work runs: processes of this machine (joblib) or an existing Dask cluster.

A backend is a generator function: it takes function, tasks, gives the function's result for each task as
they come, in any order, and a Lost for a task whose worker died each time it was tried. Every task begins
with its number. The function is one of `matching.collection.work`: a failure that it can name comes back as
a result.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec

from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import TerminatedWorkerError

from matching.collection.addresses import is_address
from matching.errors import InputError
from matching.output.provenance import differences, programs
from matching.parent_watchdog import end_with

AHEAD = 4  # tasks a thread of the cluster that are out at a time: bounds what results wait for the writer
CONNECT = 30  # seconds


@dataclass(frozen=True)
class Lost:
    """A task that no worker survived: its number, and what to say."""

    id: int
    error: str


@contextmanager
def local_backend(jobs):
    """The backend of `jobs` processes on this machine; one job runs in this process."""
    yield partial(_run_local, jobs)


def _run_local(jobs, function, tasks):
    waiting = {task[0]: task for task in tasks}
    while waiting:
        try:
            for record in _parallel(jobs, function, waiting.values()):
                del waiting[record.id]
                yield record
        except TerminatedWorkerError:
            # Killed for memory, or a decoder crashed: those that were out, at most twice as many as jobs,
            # run again, each in a process of its own.
            for task in list(waiting.values())[: 2 * jobs]:
                del waiting[task[0]]
                yield _run_alone(function, task)


def _parallel(jobs, function, tasks):
    pool = Parallel(
        n_jobs=jobs,
        backend="loky",
        return_as="generator_unordered",
        batch_size=1,
        pre_dispatch="2*n_jobs",
        initializer=end_with,
        initargs=(os.getpid(),),
    )
    with _deaf_processes():
        return pool(delayed(function)(*task) for task in list(tasks))


@contextmanager
def _deaf_processes():
    """Processes started inside don't hear Ctrl-C, which a terminal sends to all: this one ends them, and they
    have no tracebacks to tell.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only that one may say what a signal does
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # they inherit it
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _run_alone(function, task):
    from joblib.externals.loky import ProcessPoolExecutor

    with ProcessPoolExecutor(1, initializer=end_with, initargs=(os.getpid(),)) as pool:
        try:
            with _deaf_processes():
                future = pool.submit(function, *task)
            return future.result()
        except TerminatedWorkerError:
            return Lost(task[0], "the process that worked on it died, perhaps for lack of memory")


@contextmanager
def dask_backend(address):
    """The backend of the Dask cluster whose scheduler is at `address`.

    Dask gives the tasks of a lost worker to others. Raises InputError where there is no such scheduler, or a
    worker has another version of this program.
    """
    if not is_address(address):  # Dask would look for one for a minute
        raise InputError(f"--scheduler must be host:port or tcp://host:port, got {address!r}")
    if find_spec("distributed") is None:
        raise InputError("--scheduler needs dask.distributed: pip install 'gdl-match[dask]'")
    from distributed import Client

    try:
        client = Client(address, timeout=CONNECT, set_as_default=False)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"--scheduler {address}: no Dask scheduler answers there ({reason})") from None
    with _silent("distributed", "distributed.client", "tornado.application"), client:
        _check_workers(client, address)
        yield partial(_run_on_cluster, client)


@contextmanager
def _silent(*names):
    """Loggers say nothing: what happens to a cluster is said in one line, not in tracebacks."""
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _check_workers(client, address):
    try:
        client.wait_for_workers(1, timeout=CONNECT)
        found = client.run(programs)
    except TimeoutError:
        raise InputError(f"--scheduler {address}: the cluster has no workers") from None
    except (ImportError, AttributeError) as error:
        raise InputError(f"--scheduler {address}: a worker lacks this program ({error})") from None
    for worker, there in found.items():
        if there != programs():
            raise InputError(
                f"--scheduler {address}: worker {worker} has other programs than this process:"
                f" {differences(there, programs())}"
            )


def _run_on_cluster(client, function, tasks):
    from distributed import as_completed
    from distributed.scheduler import KilledWorker

    tasks = iter(tasks)
    room = AHEAD * max(sum(client.nthreads().values()), 1)
    out = {}

    def send():
        for task in tasks:
            future = client.submit(function, *task, pure=False)
            out[future.key] = task
            return [future]
        return []

    stream = as_completed([future for _ in range(room) for future in send()], loop=client.loop)
    for future in stream:
        number = out.pop(future.key)[0]
        if future.cancelled():
            raise InputError("the Dask scheduler was lost; run the same command again to go on")
        try:
            record = future.result()
        except KilledWorker:
            record = Lost(number, "every worker that worked on it died, perhaps for lack of memory")
        except (ImportError, AttributeError) as error:  # the function itself names all others
            raise InputError(f"a worker of the cluster lacks this program ({error})") from None
        future.release()
        for new in send():
            stream.add(new)
        yield record
