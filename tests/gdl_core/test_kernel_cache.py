"""The cache of compiled kernels: what it loads, and when it compiles again."""

import os
import shutil
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


def run_kernel(folder, factor=2.0, shift=0.0, **more):
    """Run PROGRAM in a separate process, with these parts of the kernel; returns the lines it prints."""
    (folder / "parts.py").write_text(PARTS.format(factor=factor, shift=shift))
    (folder / "kernel.py").write_text(KERNEL)
    paths = {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache"), **paths, **more}
    command = [sys.executable, "-B", "-W", "error", "-c", PROGRAM]
    process = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (process.returncode, process.stderr) == (0, "")
    result, message = process.stdout.splitlines()
    assert message == "nothing to add"
    return result


@pytest.fixture(scope="module")
def user(tmp_path_factory):
    """The home of a user who has run the kernel, and the variables that name it."""
    home = tmp_path_factory.mktemp("home")
    places = {"NUMBA_CACHE_DIR": "", "XDG_CACHE_HOME": str(home), "HOME": str(home)}
    assert run_kernel(home, **places) == "12.0 0 True"
    return home, places


@pytest.fixture
def folder(user, tmp_path):
    """A folder whose cache holds the kernel."""
    (entry,) = user[0].rglob("*.nbc")
    shutil.copytree(entry.parent, tmp_path / "cache")
    return tmp_path


def test_kernel_is_loaded_from_the_users_folder_without_the_compiler(user):
    home, places = user
    assert run_kernel(home, **places) == "12.0 1 False"


def test_kernel_is_compiled_again_when_another_file_changes(folder):
    assert run_kernel(folder, factor=3.0) == "18.0 0 True"
    assert run_kernel(folder, shift=1.0) == "16.0 0 True"
    assert run_kernel(folder) == "12.0 1 False"  # the first version is still there


@pytest.mark.parametrize("damage", [lambda data: data[:100], lambda data: data[:-1] + bytes([data[-1] ^ 1])])
def test_damaged_entry_is_compiled_again(folder, damage):
    (entry,) = (folder / "cache").iterdir()
    entry.write_bytes(damage(entry.read_bytes()))
    assert run_kernel(folder) == "12.0 0 True"
    assert run_kernel(folder) == "12.0 1 False"


def test_kernel_runs_without_a_writable_folder(tmp_path):
    (tmp_path / "file").touch()
    assert run_kernel(tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "file" / "cache")) == "12.0 0 True"
