"""Backends that run tasks: processes of this machine (joblib), or an existing Dask cluster.

A backend is called with a function, such as those of `matching.collection.work`, and an iterable of tasks:
tuples of arguments, of which the first is the task's number. It yields the results as they arrive, and a Lost
for each task whose worker died at every attempt.
"""

import atexit
import gc
import logging
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import TerminatedWorkerError

from matching._common.interrupts import handle_interrupts
from matching._common.optional import import_optional
from matching._common.parent_watchdog import end_with
from matching._common.threads import default_threads
from matching.collection.addresses import is_address
from matching.collection.cache import FeatureCache
from matching.collection.records import check_origin
from matching.collection.work import Settings
from matching.config import MatchConfig
from matching.errors import InputError, one_line
from matching.output.provenance import differences, programs

Function = Callable[..., Any]  # takes the arguments of a task, and returns its record
Task = tuple[Any, ...]  # arguments; the first one is a number
Run = Callable[[Function, Iterable[Task]], Iterable[Any]]
Progress = Callable[..., Iterable[Any]]  # like tqdm

TOGETHER = 1000  # tasks fetched at a time, perhaps from a database
AHEAD = 4  # tasks in flight per thread of the cluster; this bounds the results that wait to be written
CONNECT = 30  # seconds to wait for a connection


@dataclass(frozen=True)
class Lost:
    """A task during which every worker died."""

    id: int
    error: str


class Working(NamedTuple):
    """The backend of tasks, their shared data, and the display of their progress."""

    run: Run
    settings: Settings
    progress: Progress

    def records(
        self, function: Function, tasks: Iterable[Task], lost: Callable[[Lost], Any], total: int, desc: str
    ) -> Iterator[Any]:
        """Run tasks and check where their records come from; `lost` makes the record of a lost task."""
        for record in self.progress(self.run(function, tasks), total=total, desc=desc):
            if isinstance(record, Lost):
                yield lost(record)
            else:
                check_origin(record)
                yield record


@contextmanager
def start_working(
    config: MatchConfig,
    cache: FeatureCache,
    jobs: int | None = 1,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> Iterator[Working]:
    """Start processes on this machine, one per processor if `jobs` is None, or connect to a scheduler."""
    backend = dask_backend(scheduler) if scheduler else local_backend(jobs or default_threads())
    with backend as run:
        yield Working(run, Settings(config, cache), progress or (lambda items, **_: items))


@contextmanager
def local_backend(jobs: int) -> Iterator[Run]:
    """Make the backend of processes on this machine."""
    with _no_imports_from_current_folder():
        try:
            yield partial(_run_local, jobs)
        except BaseException:
            _end_pool()
            raise


def _end_pool() -> None:
    """End the processes at once, and release shared resources, about which loky would warn otherwise."""
    from joblib.externals.loky import reusable_executor

    executor = getattr(reusable_executor, "_executor", None)
    if executor is not None:
        executor.shutdown(wait=True, kill_workers=True)
    del executor
    gc.collect()


@contextmanager
def _no_imports_from_current_folder() -> Iterator[None]:
    """Keep Python processes that are started inside the context from importing from the current folder."""
    name = "PYTHONSAFEPATH"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = before


def _run_local(jobs: int, function: Function, tasks: Iterable[Task]) -> Iterator[Any]:
    tasks = iter(tasks)
    while some := list(islice(tasks, TOGETHER)):
        yield from _run_some(jobs, function, some)


def _run_some(jobs: int, function: Function, tasks: Iterable[Task]) -> Iterator[Any]:
    waiting = {task[0]: task for task in tasks}
    while waiting:
        try:
            for record in _parallel(jobs, function, waiting.values()):
                del waiting[record.id]
                yield record
        except TerminatedWorkerError:
            # A process was killed for lack of memory, or a decoder crashed: run the tasks in flight again (at
            # most twice as many as jobs), each in a new process.
            for task in list(waiting.values())[: 2 * jobs]:
                del waiting[task[0]]
                yield _run_alone(function, task)


def _parallel(jobs: int, function: Function, tasks: Iterable[Task]) -> Iterator[Any]:
    pool = Parallel(
        n_jobs=jobs,
        backend="loky",
        return_as="generator_unordered",
        batch_size=1,
        pre_dispatch="2*n_jobs",
        initializer=_begin_worker,
        initargs=(os.getpid(), _current_folder()),  # processes with other arguments are not used again
    )
    with handle_interrupts(signal.SIG_IGN):  # processes inherit it; a terminal sends Ctrl-C to all of them
        results: Iterator[Any] = pool(delayed(function)(*task) for task in list(tasks))
        return results


def _current_folder() -> str | None:
    """The folder to which paths are relative; None if it no longer exists."""
    try:
        return str(Path.cwd())
    except FileNotFoundError:
        return None


def _begin_worker(parent: int, folder: str | None) -> None:
    """Prepare a process on this machine for its tasks, whose paths are relative to the folder."""
    end_with(parent)
    if folder is not None:
        os.chdir(folder)
    atexit.register(os._exit, 0)  # otherwise, Python would first clean up all modules, while the parent waits


def _run_alone(function: Function, task: Task) -> Any:
    from joblib.externals.loky import ProcessPoolExecutor

    with ProcessPoolExecutor(1, initializer=_begin_worker, initargs=(os.getpid(), _current_folder())) as pool:
        try:
            with handle_interrupts(signal.SIG_IGN):  # as in `_parallel`
                future = pool.submit(function, *task)
            return future.result()
        except TerminatedWorkerError:
            return Lost(task[0], "the process that worked on it died, perhaps for lack of memory")


@contextmanager
def dask_backend(address: str) -> Iterator[Run]:
    """Make the backend of a Dask cluster, which gives the tasks of a lost worker to others."""
    if not is_address(address):  # Dask would search for a minute
        raise InputError(f"--scheduler must be host:port or tcp://host:port, got {address!r}")
    distributed = import_optional("distributed", "--scheduler needs dask.distributed", "dask")
    try:
        client = distributed.Client(address, timeout=CONNECT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(f"--scheduler {address}: no Dask scheduler answers ({one_line(error)})") from None
    with _silent("distributed", "distributed.client", "tornado.application"), client:
        _check_workers(client, address)
        yield partial(_run_on_cluster, client)


@contextmanager
def _silent(*names: str) -> Iterator[None]:
    """Silence loggers: what happens in a cluster is reported in one line, not by tracebacks."""
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _check_workers(client: Any, address: str) -> None:
    try:
        client.wait_for_workers(1, timeout=CONNECT)
        found = client.run(programs)
    except TimeoutError:
        raise InputError(f"--scheduler {address}: the cluster has no workers") from None
    except (ImportError, AttributeError) as error:
        raise InputError(
            f"--scheduler {address}: this program is not installed on a worker ({error})"
        ) from None
    for worker, there in found.items():
        if there != programs():
            raise InputError(
                f"--scheduler {address}: worker {worker} runs other versions than this process:"
                f" {differences(there, programs())}"
            )


def _run_on_cluster(client: Any, function: Function, tasks: Iterable[Task]) -> Iterator[Any]:
    from distributed import as_completed
    from distributed.scheduler import KilledWorker

    tasks = iter(tasks)
    room = AHEAD * max(sum(client.nthreads().values()), 1)
    out: dict[str, Task] = {}

    def send() -> list[Any]:
        for task in tasks:
            future = client.submit(function, *task, pure=False)
            out[future.key] = task
            return [future]
        return []

    stream: Any = as_completed([future for _ in range(room) for future in send()], loop=client.loop)
    for future in stream:
        number = out.pop(future.key)[0]
        if future.cancelled():
            raise InputError("the Dask scheduler was lost; run the same command again to continue")
        try:
            record = future.result()
        except KilledWorker:
            record = Lost(number, "every worker that worked on it died, perhaps for lack of memory")
        except (ImportError, AttributeError) as error:  # the function reports all other errors
            raise InputError(f"this program is not installed on a worker of the cluster ({error})") from None
        future.release()
        for new in send():
            stream.add(new)
        yield record
