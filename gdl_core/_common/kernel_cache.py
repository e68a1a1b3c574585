"""A cache of compiled kernels that loads them without setting up the compiler.

Numba's cache also keeps the bitcode of a kernel, for linking with other kernels, and sets up the compiler
before it loads anything; it notices changes of a kernel's file, but not of `inner` functions in other files.
In this project no kernel calls another one. So this cache keeps only the machine code, under a digest
of all source that it depends on, and sets up the compiler only if a kernel has to be compiled. A command that
uses 22 kernels takes a third more CPU time with Numba's cache.

This cache uses private parts of Numba. If they are not as expected, each process compiles the kernels.
"""

import hashlib
import pickle
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any
from uuid import uuid4

import llvmlite
import numba
import numpy as np
import platformdirs
from llvmlite import binding
from numba.core.dispatcher import Dispatcher

# settings of Numba that change the machine code of the same source
SETTINGS = "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "FULL_TRACEBACKS"
# packages whose versions are digested instead of their source
EXTERNAL_PACKAGES = {"", *sys.stdlib_module_names, "llvmlite", "numba", "numpy"}
_config: Any = numba.config


class KernelCache:
    """The compiled versions of a kernel on disk, in place of Numba's cache.

    Parameters
    ----------
    function : callable
        The kernel, not compiled.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    @property
    def cache_path(self) -> str:
        """The folder, for Numba's statistics."""
        user = Path(platformdirs.user_cache_dir("gdl-match", appauthor=False), "kernels")
        return str(Path(_config.CACHE_DIR or user).absolute())

    def enable(self) -> None:
        """Do nothing; Numba calls it."""

    def disable(self) -> None:
        """Do nothing; Numba calls it."""

    def flush(self) -> None:
        """Remove all versions; Numba calls it when a kernel is to be compiled again."""
        for path in Path(self.cache_path).glob(f"{self._stem}.*"):
            path.unlink(missing_ok=True)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load the version for a signature.

        Parameters
        ----------
        sig : tuple of types
            Types of the arguments.
        target_context : CPUContext
            The target of the compiler.

        Returns
        -------
        CompileResult or None
            The version; None if there is none that can be used.
        """
        with suppress(Exception):
            data = self._path(sig, target_context.codegen()).read_bytes()
            if data[:32] == hashlib.sha256(data[32:]).digest():
                return _rebuild(data[32:], target_context)
        return None

    def save_overload(self, sig: Any, compiled: Any) -> None:
        """Keep the version for a signature, if possible.

        Parameters
        ----------
        sig : tuple of types
            Types of the arguments.
        compiled : CompileResult
            The version.
        """
        with suppress(Exception):
            path = self._path(sig, compiled.codegen)
            # without absolute addresses, another process can load the machine code
            if not compiled.library.has_dynamic_globals and all(part.can_cache for part in compiled.lifted):
                content = _reduce(compiled)
                path.parent.mkdir(parents=True, exist_ok=True)
                part = path.with_name(f"{path.name}.{uuid4().hex}")
                try:
                    part.write_bytes(hashlib.sha256(content).digest() + content)
                    part.replace(path)
                finally:
                    part.unlink(missing_ok=True)

    @property
    def _stem(self) -> str:
        """The beginning of the names of all files of the kernel."""
        name = f"{self.function.__module__}.{self.function.__qualname__}"
        return f"{name.replace('<', '').replace('>', '')}-{sys.implementation.cache_tag}"

    def _path(self, sig: Any, codegen: Any) -> Path:
        """The file of a version, named by everything that the version depends on."""
        versions = numba.__version__, llvmlite.__version__, sys.version
        settings = [getattr(_config, name, None) for name in SETTINGS]
        key = repr((versions, settings, codegen.magic_tuple(), sig, digest_sources(self.function.__module__)))
        return Path(self.cache_path) / f"{self._stem}.{hashlib.sha256(key.encode()).hexdigest()[:16]}.nbc"


@cache
def digest_sources(name: str) -> str:
    """Digest a module, the modules of the functions and classes that it uses, and its constants.

    Parameters
    ----------
    name : str
        Of a module that was imported.

    Returns
    -------
    str
        The SHA-256.
    """
    digest, names = hashlib.sha256(), [name]
    for used_name in names:  # grows during the loop
        module = sys.modules[used_name]
        digest.update(Path(str(module.__file__)).read_bytes())
        for key, value in sorted(vars(module).items()):
            if key.startswith("__"):
                continue
            if isinstance(value, (bool, int, float, str, tuple, np.generic, np.dtype)):
                digest.update(repr((key, value)).encode())
            elif isinstance(value, np.ndarray):
                digest.update(value.tobytes())
            dependency = value.py_func if isinstance(value, Dispatcher) else value
            module_name = dependency.__module__ if isinstance(dependency, (FunctionType, type)) else ""
            if module_name.partition(".")[0] not in EXTERNAL_PACKAGES and module_name not in names:
                names.append(module_name)
    return digest.hexdigest()


def _reduce(compiled: Any) -> bytes:
    """Pickle a compiled kernel as Numba does, but with the names of its symbols instead of the bitcode, and
    without empty environments, which only name modules to be imported.
    """
    from numba.core.serialize import dumps

    (name, kind, (code, _)), fndesc, env, sig, objectmode, lifted, annotation, init, environments = (
        compiled._reduce()
    )
    filled = tuple(environment for environment in environments if environment.consts)
    kernel_symbols = fndesc.llvm_cpython_wrapper_name, fndesc.env_name
    names = dict.fromkeys([*kernel_symbols, *(environment.env_name for environment in filled)])
    stub = binding.parse_assembly("\n".join(f'@"{name}" = global i8* null' for name in names))
    library = name, kind, (code, stub.as_bitcode())
    module = compiled.library._final_module
    undefined = [f.name for f in (*module.functions, *module.global_variables) if f.is_declaration]
    symbols = [name for name in undefined if not name.startswith("llvm.")]
    return bytes(dumps((symbols, (library, fndesc, env, sig, objectmode, lifted, annotation, init, filled))))


def _rebuild(content: bytes, target_context: Any) -> Any:
    """Make a compiled kernel from the result of `_reduce`."""
    from numba.core.compiler import CompileResult

    symbols, reduced = pickle.loads(content)
    _name_symbols(symbols, target_context)
    return CompileResult._rebuild(target_context, *reduced)


def _name_symbols(symbols: list[str], target_context: Any) -> None:
    """Tell LLVM the addresses of functions that machine code calls; without one, it would end the process."""
    if any(binding.address_of_symbol(name) is None for name in symbols):
        with suppress(Exception):  # the functions that allocate arrays, as in Numba
            from numba.core.runtime import _nrt_python  # type: ignore[attr-defined]

            for name, address in _nrt_python.c_helpers.items():
                binding.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)
    if any(binding.address_of_symbol(name) is None for name in symbols):
        target_context.refresh()  # sets up the compiler
    if missing := [name for name in symbols if binding.address_of_symbol(name) is None]:
        raise LookupError(f"{missing[0]}: no such symbol")
