"""The cache of compiled kernels: what it loads, when it compiles again, and what it lives through."""

import errno
import importlib
import inspect
import os
import pickle
import py_compile
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numba
import numpy as np
import pytest
from llvmlite import binding
from numba.core import serialize
from numba.core.caching import CompileResultCacheImpl
from numba.core.codegen import CodeLibrary, CPUCodegen, CPUCodeLibrary
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.funcdesc import FunctionDescriptor

from gdl_core._common import cache_folders, kernel_cache
from gdl_core._common.cache_folders import read_entry, write_entry

numba_njit = numba.njit
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

    def run(factor=2.0, shift=0.0, before="", kernel=KERNEL, **more):
        (tmp_path / "parts.py").write_text(PARTS.format(factor=factor, shift=shift))
        (tmp_path / "kernel.py").write_text(kernel)
        os.utime(tmp_path / "kernel.py", (0, 0))  # the same file, for Numba
        path = os.pathsep.join([str(tmp_path), str(ROOT)])
        places = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)}
        environment = {"PYTHONPATH": path, **places, **more}
        command = [sys.executable, "-W", "error", "-c", before + PROGRAM]
        environment = {**os.environ, **environment}
        process = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        assert (process.returncode, process.stderr) == (0, "")
        return process.stdout.splitlines()

    return run


@pytest.fixture
def call_kernel(tmp_path, monkeypatch):
    """The same in this process, with a kernel that is made anew: its sum, and what the cache gave."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "kernel.py").write_text(KERNEL)

    def call(factor=2.0, shift=0.0):
        (tmp_path / "parts.py").write_text(PARTS.format(factor=factor, shift=shift))
        importlib.invalidate_caches()
        for name in ("kernel", "parts"):
            monkeypatch.delitem(sys.modules, name, raising=False)
            monkeypatch.setattr(sys, "dont_write_bytecode", True)
        total = importlib.import_module("kernel").total
        for name in ("kernel", "parts"):
            monkeypatch.setitem(sys.modules, name, sys.modules.pop(name))
        found = total(np.arange(4.0))
        with pytest.raises(ValueError, match="nothing to add"):
            total(np.empty(0))
        stats = getattr(total, "compiled", total).stats
        return found, sum(stats.cache_hits.values())

    return call


def test_a_kernel_is_loaded_without_what_compiles(run_kernel):
    assert run_kernel() == ["12.0 0 True", "nothing to add"]
    assert run_kernel() == ["12.0 1 False", "nothing to add"]


def test_a_kernel_is_compiled_again_when_a_part_in_another_file_changes(call_kernel):
    assert call_kernel() == (12, 0)
    assert call_kernel(factor=3.0) == (18, 0)
    assert call_kernel(shift=1.0) == (16, 0)
    assert call_kernel() == (12, 1)  # the first version is still there


def test_the_cache_keeps_machine_code_alone(call_kernel, tmp_path):
    """Bitcode, twice as large, takes longer to read than all else together."""
    call_kernel()
    (path,) = (tmp_path / "cache").rglob("*.nbc")
    symbols, ((_, kind, (code, names)), *_) = pickle.loads(path.read_bytes()[32:])
    assert kind == "object"
    assert len(names) < 3000 < len(code)
    assert any(name.startswith("NRT_") for name in symbols)


# --- damage ------------------------------------------------------------------------------------------

DAMAGES = {
    "empty": lambda data: b"",
    "half": lambda data: data[: len(data) // 2],
    "one byte more": lambda data: data + b"0",
    "64 bytes changed": lambda data: data[:5000] + bytes(b ^ 255 for b in data[5000:5064]) + data[5064:],
    "one bit of the code": lambda data: data[:-3000] + bytes([data[-3000] ^ 1]) + data[-2999:],
    "one bit of the checksum": lambda data: bytes([data[0] ^ 1]) + data[1:],
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_entry_is_compiled_again(call_kernel, tmp_path, damage):
    call_kernel()
    (path,) = (tmp_path / "cache").rglob("*.nbc")
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert [call_kernel() for _ in range(2)] == [(12, 0), (12, 1)]


def test_an_entry_in_the_place_of_another_one_is_not_used(call_kernel, tmp_path):
    call_kernel()
    (first,) = (tmp_path / "cache").rglob("*.nbc")
    call_kernel(factor=3.0)
    (second,) = {*(tmp_path / "cache").rglob("*.nbc")} - {first}
    shutil.copy(first, second)
    assert call_kernel(factor=3.0) == (18, 0)


def test_an_entry_that_makes_no_kernel_is_dropped(call_kernel, tmp_path):
    call_kernel()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel_cache, "read_entry", lambda *_: b"no pickle")
        assert call_kernel() == (12, 0)
    assert not list((tmp_path / "cache").glob("*.nbc"))
    assert call_kernel() == (12, 1)  # Numba's own cache has it now


def test_only_so_many_entries_of_a_kernel_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(cache_folders, "VERSIONS", 3)
    for number in range(5):
        write_entry([tmp_path], "one", bytes([number]), b"code")
        for path in tmp_path.iterdir():
            os.utime(path, (path.stat().st_mtime - 10,) * 2)
    assert write_entry([tmp_path], "other", b"", b"code") == tmp_path
    found = [read_entry([tmp_path], "one", bytes([number])) for number in range(5)]
    assert found == [None, None, b"code", b"code", b"code"]
    assert read_entry([tmp_path], "other", b"") == b"code"


def test_a_full_disk_is_no_error(call_kernel, monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "write_bytes", fail)
        assert [call_kernel() for _ in range(2)] == [(12, 0), (12, 0)]
    assert [call_kernel() for _ in range(2)] == [(12, 0), (12, 1)]


def test_a_file_where_the_folder_should_be_is_no_error(call_kernel, tmp_path, monkeypatch):
    (tmp_path / "cache").write_text("")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    assert [call_kernel() for _ in range(2)] == [(12, 0), (12, 1)]


def test_no_home_and_no_folder(run_kernel, tmp_path, monkeypatch):
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "__pycache__").write_text("")  # nor can the folder of the source be written
    nobody = "import os, tempfile\nos.path.expanduser = lambda path: path\ntempfile.tempdir = '/dev/null'\n"
    place = {"NUMBA_CACHE_DIR": ""}
    monkeypatch.chdir(tmp_path)
    assert run_kernel(before=nobody, **place)[0].startswith("12.0 0")
    assert not (tmp_path / "~").exists()


def test_numba_may_be_told_not_to_compile(run_kernel):
    counts = KERNEL + "from types import SimpleNamespace\ntotal.stats = SimpleNamespace(cache_hits={})\n"
    assert run_kernel(kernel=counts, NUMBA_DISABLE_JIT="1") == ["12.0 0 False", "nothing to add"]


def test_merging_without_compiled_code_is_told():
    program = "from gdl_core import GraphDegreeLinkage as G; G(2).fit_predict([[0], [1], [5], [6]])"
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert "NUMBA_DISABLE_JIT is set" in run.stderr.splitlines()[-1]


@pytest.mark.parametrize("packed", [False, True], ids=["compiled files", "zip file"])
def test_kernels_without_source_files(run_kernel, tmp_path, packed):
    library = tmp_path / "library"
    own = Path("gdl_core") / "_common"  # all that the kernel loads
    shutil.copytree(ROOT / own, library / own, ignore=shutil.ignore_patterns("__pycache__"))
    (library / "gdl_core" / "__init__.py").touch()
    (library / "parts.py").write_text(PARTS.format(factor=2.0, shift=0.0))
    (library / "kernel.py").write_text(KERNEL)
    if packed:
        path = Path(shutil.make_archive(str(tmp_path / "packed"), "zip", library))
    else:
        for source in library.rglob("*.py"):
            py_compile.compile(str(source), source.with_suffix(".pyc"), doraise=True)
            source.unlink()
        path = library
    place = {"PYTHONPATH": str(path), "PYTHONSAFEPATH": "1"}
    assert run_kernel(**place) == ["12.0 0 True", "nothing to add"]
    assert run_kernel(**place) == ["12.0 1 False", "nothing to add"]


# --- other versions of Numba -------------------------------------------------------------------------


class Hidden:
    """An attribute of a class of Numba that the cache of kernels finds under another name."""

    def __init__(self, owner, name):
        self.name, self.before = name, inspect.getattr_static(owner, name, None)

    def check(self):
        if sys._getframe(2).f_globals["__name__"] == kernel_cache.__name__:
            raise AttributeError(self.name)

    def __get__(self, one, owner):
        self.check()
        return vars(one)[self.name] if self.before is None else self.before.__get__(one, owner)

    def __set__(self, one, value):
        self.check()
        if self.before is None:
            vars(one)[self.name] = value
        else:
            self.before.__set__(one, value)


PRIVATE_NAMES = [
    (Dispatcher, "_cache"),
    (CompileResult, "_reduce"),
    (CompileResult, "_rebuild"),
    (CompileResult, "lifted"),
    (CompileResult, "codegen"),
    (CPUCodegen, "magic_tuple"),
    (CodeLibrary, "has_dynamic_globals"),
    (CPUCodeLibrary, "_final_module"),
    (FunctionDescriptor, "llvm_cpython_wrapper_name"),
    (FunctionDescriptor, "env_name"),
]
dumps = serialize.dumps


def _dump_for_numba(value):
    if sys._getframe(1).f_globals["__name__"] == kernel_cache.__name__:
        raise AttributeError("dumps")
    return dumps(value)


reduce, rebuild = CompileResult._reduce, CompileResult._rebuild
OTHER_NUMBAS = {f"no {c.__name__}.{name}": [(c, name, Hidden(c, name))] for c, name in PRIVATE_NAMES} | {
    "one more element": [
        (CompileResult, "_reduce", lambda self: (*reduce(self), None)),
        (CompileResult, "_rebuild", staticmethod(lambda target, *parts: rebuild(target, *parts[:-1]))),
    ],
    "one record": [
        (CompileResult, "_reduce", lambda self: {"all": reduce(self)}),
        (CompileResultCacheImpl, "rebuild", lambda self, target, told: rebuild(target, *told["all"])),
    ],
    "no serializer": [(serialize, "dumps", _dump_for_numba)],
}


@pytest.fixture(params=OTHER_NUMBAS.values(), ids=OTHER_NUMBAS)
def other_numba(request, monkeypatch):
    for owner, name, value in request.param:
        monkeypatch.setattr(owner, name, value, raising=False)


@pytest.mark.usefixtures("other_numba")
def test_numbas_own_cache_is_used_where_its_private_parts_are_others(call_kernel):
    found = [call_kernel() for _ in range(3)]
    assert [total for total, _ in found] == [12, 12, 12]
    # an entry of ours, where it shows only when it is read, has to be dropped first
    assert [hits for _, hits in found] in ([0, 1, 1], [0, 0, 1])
    assert call_kernel(factor=3.0) == (18, 0)


@pytest.mark.usefixtures("other_numba")
def test_a_kernel_is_compiled_where_no_cache_works(call_kernel, monkeypatch):
    def fail(*_):
        raise LookupError

    monkeypatch.setattr(kernel_cache, "_make_numba_cache", fail)
    monkeypatch.setattr(kernel_cache.numba, "njit", lambda cache=False, **more: numba_njit(**more))
    assert [call_kernel() for _ in range(2)] == [(12, 0), (12, 0)]


def test_the_functions_of_memory_may_have_other_names(run_kernel):
    """LLVM ends the process where machine code calls a function that it can't find."""
    run_kernel()
    change = "import numba.core.runtime.nrt\nnumba.core.runtime._nrt_python = None\n"
    assert run_kernel(before=change)[0].startswith("12.0 1")


def test_machine_code_that_calls_what_is_not_there_is_dropped(call_kernel, monkeypatch):
    call_kernel()
    monkeypatch.setattr(binding, "address_of_symbol", lambda name: None)
    assert call_kernel() == (12, 0)


def test_a_kernel_without_a_digest_is_compiled_each_time(call_kernel, tmp_path):
    kernel = KERNEL.replace(
        "import shifted\n", "import shifted\nsum = object()  # of the same name as a method\n"
    )
    (tmp_path / "kernel.py").write_text(kernel)
    assert [call_kernel() for _ in range(2)] == [(12, 0), (12, 0)]
    assert not list((tmp_path / "cache").rglob("*.nbc"))
