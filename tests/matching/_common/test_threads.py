import os
import subprocess
import sys

import pytest

from matching._common import opencv
from matching._common.threads import default_threads, limit_threads, run_in_ranges


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("n", [0, 1, 7, 8, 25])
def test_ranges_cover_everything_once(n, n_threads):
    seen = []
    with limit_threads(n_threads):
        run_in_ranges(lambda start, stop: seen.extend(range(start, stop)), n, 8)
    assert sorted(seen) == list(range(n))


@pytest.mark.parametrize("n_threads", [1, 2])
def test_errors_are_not_lost(n_threads):
    with pytest.raises(ZeroDivisionError), limit_threads(n_threads):
        run_in_ranges(lambda start, stop: 1 // (start - 8), 20, 8)


def test_default_is_at_least_one_thread():
    assert default_threads() >= 1


def test_limit_holds_only_inside_the_block():
    before = default_threads(), opencv.set_threads(3)
    opencv.set_threads(before[1])
    with limit_threads(1):
        assert default_threads() == 1
        assert opencv.set_threads(1) == 1
    assert default_threads() == before[0]
    assert opencv.set_threads(before[1]) == before[1]


def test_limit_ends_with_an_error():
    with pytest.raises(ZeroDivisionError), limit_threads(1):
        1 // 0  # noqa: B018
    with limit_threads(2):
        assert default_threads() == 2


FORK = """
import os, threading, time
from matching._common.threads import limit_threads, run_in_ranges, single_blas_thread
def count():
    seen, together = set(), threading.Barrier(2, timeout=20)
    def work(start, stop):
        together.wait()  # two threads have to be here at a time
        seen.add(threading.get_ident())
    with limit_threads(2):
        run_in_ranges(work, 2, 1)
    return len(seen)
assert count() == 2
child = None
with single_blas_thread():
    child = os.fork()
    if child == 0:
        with single_blas_thread():
            os._exit(0 if count() == 2 else 1)
assert os.waitpid(child, 0)[1] == 0
print("done")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_child_process_has_separate_helpers():
    command = [sys.executable, "-W", "ignore", "-c", FORK]
    process = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (process.stdout, process.stderr) == ("done\n", "")
