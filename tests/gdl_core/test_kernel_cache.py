"""The cache of compiled kernels: what it loads, and when it compiles again."""

import importlib
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core.dispatcher import Dispatcher

from gdl_core._common.kernel_cache import digest_parts, is_kernel

ROOT = Path(__file__).parents[2]

PARTS = """
from gdl_core._common.jit import inner
SHIFT = {shift}
@inner
def shifted(x):
    return {factor} * x + SHIFT
"""
KERNEL = """
import numpy as np
from gdl_core._common.jit import njit
from parts import shifted
@njit
def total(x):
    room = np.empty(len(x))  # memory of its own
    for i in range(len(x)):
        room[i] = shifted(x[i])
    if len(x) == 0:
        raise ValueError("nothing to add")
    return room.sum()
"""
PROGRAM = """
import sys
from kernel import np, total
print(total(np.arange(4.0)), sum(total.stats.cache_hits.values()), "numba.np.arrayobj" in sys.modules)
try: total(np.empty(0))
except ValueError as error: print(error)
"""


@pytest.fixture
def run_kernel(tmp_path):
    """Run PROGRAM in a process of its own, with these parts of the kernel; its output."""

    def run(factor=2.0, shift=0.0):
        (tmp_path / "parts.py").write_text(PARTS.format(factor=factor, shift=shift))
        (tmp_path / "kernel.py").write_text(KERNEL)
        os.utime(tmp_path / "kernel.py", (0, 0))  # the same file, for Numba
        path = os.pathsep.join([str(tmp_path), str(ROOT)])
        environment = {**os.environ, "PYTHONPATH": path, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        command = [sys.executable, "-c", PROGRAM]
        process = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        return process.stdout.splitlines()

    return run


def test_a_kernel_is_loaded_without_what_compiles(run_kernel):
    assert run_kernel() == ["12.0 0 True", "nothing to add"]
    assert run_kernel() == ["12.0 1 False", "nothing to add"]


def test_a_kernel_is_compiled_again_when_a_part_in_another_file_changes(run_kernel):
    assert run_kernel()[0] == "12.0 0 True"
    assert run_kernel(factor=3.0)[0] == "18.0 0 True"
    assert run_kernel(shift=1.0)[0] == "16.0 0 True"
    assert run_kernel()[0] == "12.0 1 False"  # the first version is still there


def test_the_cache_keeps_machine_code_alone(run_kernel, tmp_path):
    """Bitcode, twice as large, takes longer to read than all else together."""
    run_kernel()
    (path,) = (tmp_path / "cache").rglob("*.nbc")
    sys.path.insert(0, str(tmp_path))  # the entry names its module
    try:
        (_, kind, (code, names)), *_ = pickle.loads(path.read_bytes())
    finally:
        del sys.path[0], sys.modules["kernel"], sys.modules["parts"]
    assert kind == "object"
    assert len(names) < 3000 < len(code)


def _kernels():
    for package in ("gdl_core", "matching", "eval", "synth"):
        for path in sorted((ROOT / package).rglob("*.py")):
            if "njit" in path.read_text(encoding="utf-8"):
                module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
                yield from (v for v in vars(module).values() if isinstance(v, Dispatcher))


def test_no_kernel_calls_another_one():
    kernels = {kernel.py_func for kernel in _kernels() if is_kernel(kernel)}
    assert len(kernels) > 30
    assert len({digest_parts(kernel) for kernel in kernels}) == len(kernels)


def test_a_kernel_that_calls_another_one_is_refused():
    from gdl_core._common.jit import inner, njit

    scope = {"njit": njit, "inner": inner}
    exec("def one(x): return x\ndef two(x): return one(x)\ndef three(x): return two(x)", scope)
    # without a file there is no cache: that of a kernel which has one stands for it
    scope["one"] = next(kernel for kernel in _kernels() if is_kernel(kernel))
    scope["two"] = inner(scope["two"])
    with pytest.raises(TypeError, match="two calls the kernel one, which must be an inner function"):
        digest_parts(scope["three"])


def test_digests_do_not_depend_on_where_code_lies_in_memory():
    scopes = [{}, {}]
    for scope in scopes:
        exec("def total(x): return sum([abs(v) for v in x])", scope)
    first, second = (digest_parts(scope["total"]) for scope in scopes)
    assert first == second
