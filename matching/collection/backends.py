"""Backends that run tasks: processes of this machine (loky), or an existing Dask cluster.

A task is a tuple of the arguments of a function, such as those of `matching.collection.work`; the first one
is the task's number. Both backends are executors of `concurrent.futures`.
"""

import logging
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from joblib.externals.loky import ProcessPoolExecutor, get_reusable_executor

from matching._common.interrupts import handle_interrupts
from matching._common.optional import import_optional
from matching._common.parent_watchdog import exit_with_parent
from matching._common.threads import default_threads
from matching.collection.cache import FeatureCache
from matching.collection.database.settings import describe_difference
from matching.collection.work import Settings, run_task
from matching.errors import InputError, one_line
from matching.grouping.config import MatchConfig
from matching.output.provenance import programs

Function = Callable[..., Any]  # takes the arguments of a task, and returns its record
Task = tuple[Any, ...]
# makes the record of a task during which every worker died, from its number and the `error`
RecordLost = Callable[..., Any]
Run = Callable[[Function, Iterable[Task], RecordLost], Iterator[Any]]
Progress = Callable[..., Iterable[Any]]  # like tqdm

# Tasks in flight on the cluster, per thread; this bounds the results that wait to be written.
TASKS_PER_THREAD = 4
CONNECT_SECONDS = 30
SAFE_PATH = {"PYTHONSAFEPATH": "1"}  # new processes import nothing from the current folder


class Workers(NamedTuple):
    """A backend that runs tasks, the data that they share, and the display of their progress."""

    run: Run  # yields records as they arrive
    settings: Settings
    progress: Progress

    def records(
        self, function: Function, tasks: Iterable[Task], record_lost: RecordLost, total: int, desc: str
    ) -> Iterator[Any]:
        """Run tasks, the settings being their last argument, and yield their records."""
        run = partial(run_task, function, self.settings)
        yield from self.progress(self.run(run, tasks, record_lost), total=total, desc=desc)


@contextmanager
def start_workers(
    config: MatchConfig,
    cache: FeatureCache,
    jobs: int | None = 1,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> Iterator[Workers]:
    """Start processes on this machine, one per processor if `jobs` is None, or connect to a scheduler."""
    backend = dask_backend(scheduler) if scheduler else local_backend(jobs or default_threads())
    with backend as run:
        yield Workers(run, Settings(config, cache), progress or (lambda items, **_: items))


@contextmanager
def local_backend(jobs: int) -> Iterator[Run]:
    """Make the backend of processes on this machine; a single job runs in this process."""
    if jobs == 1:
        yield lambda function, tasks, _: (function(*task) for task in tasks)
        return
    options = {"initializer": _begin_work, "initargs": (Path.cwd(), os.getpid()), "env": SAFE_PATH}
    get_pool = partial(get_reusable_executor, jobs, **options)

    def submit(function: Function, task: Task) -> Future[Any]:
        with handle_interrupts(signal.SIG_IGN):  # processes inherit it: Ctrl-C reaches all of a terminal
            # makes a new pool if a process of the last one has died
            pool = get_pool()
            try:
                return pool.submit(function, *task)  # type: ignore[no-any-return]
            except BrokenProcessPool:  # one has died since
                return get_pool().submit(function, *task)  # type: ignore[no-any-return]

    def run_alone(function: Function, task: Task, record_lost: RecordLost, _: Exception) -> Any:
        # a process was killed for lack of memory, or a decoder crashed, perhaps during another task
        with ProcessPoolExecutor(1, **options) as pool, handle_interrupts(signal.SIG_IGN):
            try:
                return pool.submit(function, *task).result()
            except BrokenProcessPool:
                return record_lost(
                    task[0], error="the process that worked on it died, perhaps for lack of memory"
                )

    try:
        yield partial(_run_ahead, submit, run_alone, BrokenProcessPool, 2 * jobs)
    except BaseException:
        # the thread that manages the pool may miss tasks that were dropped, and must print no traceback
        before, threading.excepthook = threading.excepthook, lambda _: None
        get_pool().shutdown(kill_workers=True)
        threading.excepthook = before
        raise


def _begin_work(folder: Path, parent: int) -> None:
    """Begin a process: of a killed run, it could otherwise wait forever for its result to be taken."""
    os.chdir(folder)
    exit_with_parent(parent)


def _run_ahead(
    submit: Callable[[Function, Task], Future[Any]], recover: Callable[..., Any],
    death_errors: Any, n_ahead: int, function: Function, tasks: Iterable[Task], record_lost: RecordLost,
) -> Iterator[Any]:  # fmt: skip
    """Submit tasks, `n_ahead` at a time, and yield their records as soon as these are done.

    If the worker of a task dies, which raises one of `death_errors`, `recover` makes its record.
    """
    tasks, running = iter(tasks), dict[Future[Any], Task]()
    while True:
        running |= {submit(function, task): task for task in islice(tasks, n_ahead - len(running))}
        if not running:
            return
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            task = running.pop(future)
            try:
                record = future.result()
            except death_errors as error:
                record = recover(function, task, record_lost, error)
            yield record


@contextmanager
def dask_backend(address: str) -> Iterator[Run]:
    """Make the backend of a Dask cluster, which gives the tasks of a lost worker to others.

    The cluster must have workers, which run the same versions as this process.
    """
    distributed = import_optional("distributed", "--scheduler needs dask.distributed", "distributed")
    try:
        client = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(f"--scheduler {address}: no Dask scheduler answers ({one_line(error)})") from None
    for name in ("distributed", "tornado.application"):  # errors are reported in one line, not by tracebacks
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with client:
        try:
            client.wait_for_workers(1, timeout=CONNECT_SECONDS)
            found = client.run(programs)
        except TimeoutError:
            raise InputError(f"--scheduler {address}: the cluster has no workers") from None
        except (ImportError, AttributeError) as error:
            raise InputError(
                f"--scheduler {address}: this program is not installed on a worker ({error})"
            ) from None
        for worker, programs_there in found.items():
            if programs_there != programs():
                raise InputError(
                    f"--scheduler {address}: worker {worker} runs other versions than this process:"
                    f" {describe_difference(programs_there, programs())}"
                )
        n_ahead = TASKS_PER_THREAD * max(sum(client.nthreads().values()), 1)
        executor = client.get_executor(pure=False)

        def submit(function: Function, task: Task) -> Future[Any]:
            return executor.submit(function, *task)  # type: ignore[no-any-return]

        def recover(_: Function, task: Task, record_lost: RecordLost, error: Exception) -> Any:
            if isinstance(error, CancelledError):
                raise InputError("the Dask scheduler was lost; run the same command again to continue")
            return record_lost(
                task[0], error="every worker that worked on it died, perhaps for lack of memory"
            )

        death_errors = distributed.scheduler.KilledWorker, CancelledError
        yield partial(_run_ahead, submit, recover, death_errors, n_ahead)
