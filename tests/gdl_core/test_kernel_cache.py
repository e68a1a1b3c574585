"""The cache of compiled kernels: what it loads, and when it compiles again."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = """
from gdl_core.jit import inner
SHIFT = {shift}
@inner
def shifted(x):
    return {factor} * x
"""
KERNEL = """
import numpy as np
from gdl_core.jit import njit
from parts import SHIFT, shifted
@njit
def total(x):
    room = np.empty(len(x))
    for i in range(len(x)):
        room[i] = shifted(x[i]) + SHIFT
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
    """Run PROGRAM in a separate process, with these parts of the kernel; returns the lines it prints."""

    def run(factor=2.0, shift=0.0, **more):
        (tmp_path / "parts.py").write_text(PARTS.format(factor=factor, shift=shift))
        (tmp_path / "kernel.py").write_text(KERNEL)
        paths = {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), **paths, **more}
        command = [sys.executable, "-B", "-W", "error", "-c", PROGRAM]
        process = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        assert (process.returncode, process.stderr) == (0, "")
        result, message = process.stdout.splitlines()
        assert message == "nothing to add"
        return result

    return run


def test_kernel_is_loaded_without_the_compiler(run_kernel):
    assert run_kernel() == "12.0 0 True"
    assert run_kernel() == "12.0 1 False"


def test_kernel_is_compiled_again_when_another_file_changes(run_kernel):
    assert run_kernel() == "12.0 0 True"
    assert run_kernel(factor=3.0) == "18.0 0 True"
    assert run_kernel(shift=1.0) == "16.0 0 True"
    assert run_kernel() == "12.0 1 False"  # the first version is still there


@pytest.mark.parametrize("damage", [lambda data: data[:100], lambda data: data[:-1] + bytes([data[-1] ^ 1])])
def test_damaged_entry_is_compiled_again(run_kernel, tmp_path, damage):
    run_kernel()
    (entry,) = (tmp_path / "cache").iterdir()
    entry.write_bytes(damage(entry.read_bytes()))
    assert run_kernel() == "12.0 0 True"
    assert run_kernel() == "12.0 1 False"


def test_kernel_runs_without_a_writable_folder(run_kernel, tmp_path):
    (tmp_path / "file").touch()
    assert run_kernel(NUMBA_CACHE_DIR=str(tmp_path / "file" / "cache")) == "12.0 0 True"


def test_user_cache_folder_is_used_by_default(run_kernel, tmp_path):
    places = {"NUMBA_CACHE_DIR": "", "XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    run_kernel(**places)
    assert run_kernel(**places) == "12.0 1 False"
