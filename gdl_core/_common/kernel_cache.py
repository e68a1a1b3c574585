"""A cache of compiled kernels that loads them without setting up the compiler.

Numba's cache also keeps the bitcode of a kernel, for linking with other kernels, and sets up the compiler
before it loads anything. In this project no kernel calls another one. So this cache keeps only the machine
code, and sets up the compiler only if a kernel has to be compiled.

This cache uses private parts of Numba. If they are not as expected, Numba's cache is used instead. If
anything is wrong with an entry, the entry is dropped and the kernel is compiled again.
"""

import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property, wraps
from pathlib import Path
from typing import Any

import llvmlite
import numba
from llvmlite import binding

from .cache_folders import list_cache_folders, read_entry, remove_entry, write_entry
from .kernel_digest import CallsKernelError, digest_parts

# settings of Numba that change the result for the same code
SETTINGS = "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "FULL_TRACEBACKS"
_config: Any = numba.config
_folder_lock = threading.RLock()


def keep_compiled(compiled: Any, options: dict[str, Any]) -> Any:
    """Keep the compiled versions of a kernel on disk.

    Parameters
    ----------
    compiled : Dispatcher
        The result of ``numba.njit``.
    options : dict
        The arguments of that call.

    Returns
    -------
    callable
        The kernel to call: the same one, or one that Numba's cache keeps.
    """
    own = KernelCache(compiled.py_func)
    with suppress(Exception):
        if all(callable(getattr(compiled._cache, name)) for name in ("load_overload", "save_overload")):
            compiled._cache = own
            if compiled._cache is own:
                return compiled
    return _keep_by_numba(own, options)


def _keep_by_numba(own: "KernelCache", options: dict[str, Any]) -> Any:
    """A kernel that Numba's cache keeps in a folder named by the digest, because Numba itself checks only one
    file for changes. The digest is known only at the first call.
    """
    function = own.function

    @wraps(function)
    def kernel(*arguments: Any) -> Any:
        with _folder_lock:
            if kernel.compiled is None:  # type: ignore[attr-defined]
                kernel.compiled = _compile_with_cache(own, options)  # type: ignore[attr-defined]
        return kernel.compiled(*arguments)  # type: ignore[attr-defined]

    kernel.py_func, kernel.compiled = function, None  # type: ignore[attr-defined]
    return kernel


def _compile_with_cache(own: "KernelCache", options: dict[str, Any]) -> Any:
    if own.digest is not None:
        for folder in own.folders:
            # no such folder or source file
            with suppress(RuntimeError, OSError), _numba_folder(folder / own.digest[:16]):
                return numba.njit(cache=True, **options)(own.function)
    return numba.njit(**options)(own.function)


class KernelCache:
    """The compiled versions of a kernel on disk, in place of Numba's cache.

    Parameters
    ----------
    function : callable
        The kernel, not compiled.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.is_fit = True  # whether the private parts of Numba are as expected

    @cached_property
    def folders(self) -> list[Path]:
        """The folders that are searched for versions and, if possible, keep new ones."""
        source = self.function.__globals__.get("__file__")
        return list_cache_folders(source, _config.CACHE_DIR) if source else []

    @cached_property
    def digest(self) -> str | None:
        """The digest of everything in the kernel; None if some content is unknown, so that nothing can be
        kept.
        """
        try:
            return digest_parts(self.function)
        except CallsKernelError:
            raise
        except (TypeError, ValueError):
            return None

    @property
    def cache_path(self) -> str | None:
        """The first of the folders, for Numba's statistics."""
        return str(self.folders[0]) if self.folders else None

    def enable(self) -> None:
        """Do nothing; Numba calls it."""

    def disable(self) -> None:
        """Do nothing; Numba calls it."""

    def flush(self) -> None:
        """Remove all versions; Numba calls it when a kernel is to be compiled again."""
        for folder in self.folders:
            for path in folder.glob(f"{self._stem}.*"):
                with suppress(OSError):
                    path.unlink()

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
        if self.digest is None or not self.folders:
            return None
        if self.is_fit:
            try:
                key = self._key(sig, target_context.codegen())
            except Exception:
                self.is_fit = False
            else:
                content = read_entry(self.folders, self._stem, key)
                try:
                    if content is not None:
                        return _rebuild(content, target_context)
                except Exception:
                    self.is_fit = False
                    remove_entry(self.folders, self._stem, key)
        with suppress(Exception):
            return self._load_by_numba(sig, target_context)
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
        if self.digest is None or not self.folders:
            return
        if self.is_fit:
            try:
                key = self._key(sig, compiled.codegen)
                if _is_lasting(compiled):
                    write_entry(self.folders, self._stem, key, _reduce(compiled))
                return
            except Exception:
                self.is_fit = False
        with suppress(Exception):
            self._save_by_numba(sig, compiled)

    @property
    def _stem(self) -> str:
        name = f"{self.function.__module__.rpartition('.')[2]}.{self.function.__qualname__}"
        return f"{name.replace('<', '').replace('>', '')}-{sys.implementation.cache_tag}"

    def _key(self, sig: Any, codegen: Any) -> bytes:
        """Everything that a version depends on."""
        versions = numba.__version__, llvmlite.__version__, sys.implementation.cache_tag
        settings = [getattr(_config, name, None) for name in SETTINGS]
        name = self.function.__module__, self.function.__qualname__
        return repr((versions, settings, codegen.magic_tuple(), name, sig, self.digest)).encode()

    def _load_by_numba(self, sig: Any, target_context: Any) -> Any:
        for folder in self._numba_folders:
            if folder.is_dir():
                return _make_numba_cache(self.function, folder).load_overload(sig, target_context)
        return None

    def _save_by_numba(self, sig: Any, compiled: Any) -> None:
        for folder in self._numba_folders:
            with suppress(OSError, RuntimeError):
                _make_numba_cache(self.function, folder).save_overload(sig, compiled)
                return

    @property
    def _numba_folders(self) -> Iterator[Path]:
        """The folders of Numba's cache for this digest, because Numba checks only one file for changes."""
        return (folder / str(self.digest)[:16] for folder in self.folders)


def _make_numba_cache(function: Callable[..., Any], folder: Path) -> Any:
    from numba.core.caching import FunctionCache

    with _numba_folder(folder):
        return FunctionCache(function)


@contextmanager
def _numba_folder(folder: Path) -> Iterator[None]:
    """Let the caches of Numba that are made in this context use a folder."""
    with _folder_lock:
        before, _config.CACHE_DIR = _config.CACHE_DIR, str(folder)
        try:
            yield
        finally:
            _config.CACHE_DIR = before


def _is_lasting(compiled: Any) -> bool:
    """Whether another process may run the machine code, that is, whether the code contains no addresses."""
    return not compiled.library.has_dynamic_globals and all(part.can_cache for part in compiled.lifted)


def _reduce(compiled: Any) -> bytes:
    """The parts of a compiled kernel that Numba keeps, but with the names of symbols instead of the bitcode,
    and without empty environments, which only name modules to be imported.
    """
    from numba.core.serialize import dumps

    (name, kind, (code, _)), fndesc, env, sig, objectmode, lifted, told, init, environments = (
        compiled._reduce()
    )
    used = tuple(environment for environment in environments if environment.consts)
    own = fndesc.llvm_cpython_wrapper_name, fndesc.env_name
    names = dict.fromkeys([*own, *(environment.env_name for environment in used)])
    stub = binding.parse_assembly("\n".join(f'@"{name}" = global i8* null' for name in names))
    library = name, kind, (code, stub.as_bitcode())
    module = compiled.library._final_module
    outside = [f.name for f in (*module.functions, *module.global_variables) if f.is_declaration]
    symbols = [name for name in outside if not name.startswith("llvm.")]
    return bytes(dumps((symbols, (library, fndesc, env, sig, objectmode, lifted, told, init, used))))


def _rebuild(content: bytes, target_context: Any) -> Any:
    from numba.core.compiler import CompileResult

    symbols, reduced = pickle.loads(content)
    _name_symbols(symbols, target_context)
    return CompileResult._rebuild(target_context, *reduced)


def _name_symbols(symbols: list[str], target_context: Any) -> None:
    """Make the functions that machine code calls known to LLVM, which ends the process if one is missing."""
    if any(binding.address_of_symbol(name) is None for name in symbols):
        with suppress(Exception):  # the functions that allocate arrays, as in Numba
            from numba.core.runtime import _nrt_python  # type: ignore[attr-defined]

            for name, address in _nrt_python.c_helpers.items():
                binding.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)
    if any(binding.address_of_symbol(name) is None for name in symbols):
        target_context.refresh()  # sets up the compiler
    if missing := [name for name in symbols if binding.address_of_symbol(name) is None]:
        raise LookupError(f"{missing[0]}: no such symbol")
