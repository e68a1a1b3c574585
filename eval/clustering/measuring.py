"""Tools that all benchmarks of the clusterer share: samples, scores, time, memory, and separate processes."""

import resource
import statistics
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eval.common.options import peak_megabytes
from eval.images.datasets import load

N_BLOBS = 50
T = TypeVar("T")


class Seconds(NamedTuple):
    """The time that a call took."""

    wall: float
    cpu: float  # of all threads; a busy machine inflates this less than the wall time


class Clock:
    """Measures the seconds since it was made."""

    def __init__(self) -> None:
        self._start = time.perf_counter(), time.process_time()

    def seconds(self) -> Seconds:
        return Seconds(time.perf_counter() - self._start[0], time.process_time() - self._start[1])


def median_time(call: Callable[[], T], repeats: int) -> tuple[Seconds, T]:
    """Median `Seconds` of ``call`` after one run that may compile, and its last result."""
    result, times = call(), []
    for _ in range(repeats):
        clock = Clock()
        result = call()
        times.append(clock.seconds())
    wall, cpu = zip(*times, strict=True)
    return Seconds(statistics.median(wall), statistics.median(cpu)), result


def run_apart(function: Callable[..., T], *arguments: object) -> T:
    """The result of a function of a module, called in a separate process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_run_quietly, function, *arguments).result()


def _run_quietly(function, *arguments):
    warnings.simplefilter("ignore")
    return function(*arguments)


def peak_gigabytes() -> float:
    """Peak memory of this process, including the pages of mapped files."""
    status = Path("/proc/self/status")  # on Linux, getrusage may report the parent's peak
    if status.is_file():
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 2**20
    return peak_megabytes(resource.getrusage(resource.RUSAGE_SELF)) / 2**10


def nmi(y: ArrayLike, labels: ArrayLike) -> float:
    """Normalised mutual information, by the geometric mean."""
    from sklearn.metrics import normalized_mutual_info_score

    return float(normalized_mutual_info_score(y, labels, average_method="geometric"))


def blobs(n: int) -> tuple[NDArray[np.float32], NDArray]:
    """Samples (n, 16) of `N_BLOBS` normal distributions, and the distribution of each sample."""
    from sklearn.datasets import make_blobs

    x, y = make_blobs(n, n_features=16, centers=N_BLOBS, cluster_std=2.0, random_state=0)
    return x.astype(np.float32), y


def images(data: Path, name: str) -> tuple[NDArray[np.float32], NDArray]:
    """The pictures of a set as rows of values in [0, 1], and their labels."""
    found = load(name, Path(data) / "clustering")
    return found.images.reshape(len(found), -1) / np.float32(255), found.labels
