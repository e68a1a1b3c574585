"""The first run, which compiles the kernels: it reports progress, and starts a second process to help."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

PROGRESS_FORMAT = "compiling: {n_fmt} functions, {elapsed}"
COMPILING_MESSAGE = "compiling inner loops on their first use, which takes up to a minute"


@contextmanager
def report_compiling(tell: Callable[[str], object], is_shown: bool = False) -> Iterator[None]:
    """Report when a kernel is first compiled, and, on a terminal, count the functions that are compiled in a
    line that moves. Report nothing if all kernels are in the cache.

    Numba compiles in one thread. So another process compiles the kernels of grouping, which are needed last.
    When this process has compiled the first of them, it waits for the other one, and finds the rest in the
    cache.
    """
    from numba.core import event

    from matching._common.threads import default_threads

    class Teller(event.Listener):
        other: subprocess.Popen[bytes] | None = None
        line: Any = None

        def on_start(self, event: Any) -> None:
            if self.line is None:
                from tqdm import tqdm  # most runs compile nothing, and need not import it

                tell(COMPILING_MESSAGE)
                self.line = tqdm(bar_format=PROGRESS_FORMAT, leave=False, disable=None if is_shown else True)
                if default_threads() > 1:
                    self.other = _start(
                        "from matching.cli.compiling import compile_grouping; compile_grouping()"
                    )

        def on_end(self, event: Any) -> None:
            self.line.update()
            kernel = event.data["dispatcher"].py_func.__module__
            if self.other is not None and kernel.startswith(("matching.core", "gdl_core")):
                while self.other.poll() is None:
                    time.sleep(0.1)
                    self.line.refresh()

    teller = Teller()
    try:
        with event.install_listener("numba:compile", teller):
            yield
    finally:
        if teller.line is not None:
            teller.line.close()
        if teller.other is not None:
            teller.other.kill()
            teller.other.wait()


def _start(code: str) -> subprocess.Popen[bytes]:
    """Start a Python process that runs this code and ends with this process, even if this one is killed."""
    code = (
        f"import sys; sys.path[:] = {sys.path!r}\n"
        "from matching._common.parent_watchdog import exit_with_parent\n"
        f"exit_with_parent({os.getpid()}, 0.2)\n"
        f"{code}"
    )
    silent = subprocess.DEVNULL
    return subprocess.Popen(  # in a new session, so that Ctrl-C does not reach it
        [sys.executable, "-c", code], stdin=silent, stdout=silent, stderr=silent, start_new_session=True
    )


def compile_grouping() -> int:
    """Compile the kernels of grouping in reverse order, because the other process starts from the first."""
    import numpy as np

    import gdl_core
    from matching.core.config import MatchConfig
    from matching.core.group import group
    from matching.core.groups import Part
    from matching.core.smooth_map import refine_parts
    from matching.correspondences.correspondences import Correspondences

    chain = gdl_core.AffinityGraph(np.arange(3), np.array([1, 0], np.int32), np.ones(2))
    gdl_core.agdl(chain, [0, 1], min_affinity=0.1)
    rng = np.random.default_rng(0)
    xy0 = rng.uniform(0, 200, (100, 2))
    xy1 = xy0 + rng.normal(0, 0.5, (100, 2))
    xy1[60:] = rng.uniform(0, 200, (40, 2))
    correspondences, config = Correspondences(xy0, xy1, np.tile(np.eye(2), (100, 1, 1))), MatchConfig()
    some, others = np.split(np.arange(100), [55])
    parts = [Part(some, config.smooth_map.largest_bend)]
    refine_parts(correspondences, parts, others, config.smooth_map, config.graph)
    return len(group(correspondences, 90, config))
