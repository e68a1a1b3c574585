"""A cache of compiled kernels that loads them without what only compiling needs.

Numba's own cache keeps, beside the machine code of a kernel, its bitcode, which other kernels are linked
with, and before it loads one it sets up all that it could compile with. No kernel here calls another one. So
the machine code alone is kept, and nothing is set up before a kernel has to be compiled.
"""

import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np
from llvmlite import binding
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.dispatcher import Dispatcher
from numba.core.runtime import _nrt_python  # type: ignore[attr-defined]

OPTIONS = Path(__file__).with_name("jit.py").read_bytes()  # what kernels are compiled with
CONSTANTS = int, float, str, tuple, np.dtype, np.generic  # of a module, compiled into its functions


class _MachineCode(CompileResultCacheImpl):
    def reduce(self, compiled: Any) -> tuple[Any, ...]:
        """Keep of a compiled kernel what Numba keeps, but the names that it looks up in place of the bitcode,
        and of its environments those that hold something: others only name modules to be imported.
        """
        (name, kind, (code, _)), *rest, environments = super().reduce(compiled)
        used = tuple(environment for environment in environments if environment.consts)
        own = compiled.fndesc.llvm_cpython_wrapper_name, compiled.fndesc.env_name
        names = dict.fromkeys([*own, *(environment.env_name for environment in used)])
        stub = binding.parse_assembly("\n".join(f'@"{name}" = global i8* null' for name in names))
        return (name, kind, (code, stub.as_bitcode())), *rest, used


@cache
def _name_memory_functions() -> None:
    """Let machine code find the functions that allocate arrays, as Numba does before it compiles."""
    for name, address in _nrt_python.c_helpers.items():
        binding.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


class _KernelCache(FunctionCache):
    _impl_class = _MachineCode

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load the version for a signature; None where there is none."""
        _name_memory_functions()
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        """What a version is found by: as Numba has it, and all that the kernel is made of, in any file."""
        return *super()._index_key(sig, codegen), digest_parts(self._py_func)


def cache_kernel(compiled: Any) -> None:
    """Keep the compiled versions of a kernel on disk.

    Parameters
    ----------
    compiled : Dispatcher
        What ``numba.njit`` returns.

    Raises
    ------
    RuntimeError
        No folder can be written.
    """
    compiled._cache = _KernelCache(compiled.py_func)


def is_kernel(value: object) -> bool:
    """Test whether something is a kernel of which the compiled versions are kept.

    Parameters
    ----------
    value : object
        Anything.

    Returns
    -------
    bool
        Whether it is.
    """
    return isinstance(getattr(value, "_cache", None), _KernelCache)


def digest_parts(kernel: Any) -> str:
    """Compute a digest of a kernel and the functions that are compiled into it, with their constants.

    Parameters
    ----------
    kernel : callable
        The function, not compiled.

    Returns
    -------
    str
        The SHA-256.

    Raises
    ------
    TypeError
        One of the functions is a kernel itself, of which the cache has nothing to compile with.
    """
    digest = hashlib.sha256(OPTIONS)
    for part in _list_parts(kernel, set()):
        for code in _list_codes(part.__code__):
            own = [value for value in code.co_consts if not isinstance(value, CodeType)]
            globals_ = {name: part.__globals__.get(name) for name in code.co_names}
            constants = {name: value for name, value in globals_.items() if isinstance(value, CONSTANTS)}
            digest.update(code.co_code + repr((code.co_names, own, constants)).encode())
    return digest.hexdigest()


def _list_parts(function: Any, seen: set[Any]) -> Iterator[Any]:
    seen.add(function)
    yield function
    for name in (name for code in _list_codes(function.__code__) for name in code.co_names):
        called = function.__globals__.get(name)
        if is_kernel(called):
            raise TypeError(f"{function.__name__} calls the kernel {name}, which must be an inner function")
        if isinstance(called, Dispatcher) and called.py_func not in seen:
            yield from _list_parts(called.py_func, seen)


def _list_codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a function, and of the comprehensions in it."""
    yield code
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield from _list_codes(value)
