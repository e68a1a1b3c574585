"""Running compiled loops, which release the GIL, over ranges on several threads."""

import os
from concurrent.futures import ThreadPoolExecutor


def default_threads():
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_ranges(function, n, n_threads, block):
    """Call function(start, stop) over consecutive ranges that cover 0..n. Each writes its own rows, so the
    number of threads changes nothing."""
    starts = range(0, n, block)
    if n_threads == 1:
        for start in starts:
            function(start, min(start + block, n))
        return
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(lambda start: function(start, min(start + block, n)), starts))
