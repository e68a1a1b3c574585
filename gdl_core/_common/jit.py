"""Compiling with Numba: paid once wherever a cache can be written, and working where none can.

Import this module only from modules that hold kernels, and those only inside the functions that call them:
Numba takes longer to import than everything else in the package together.
"""

import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, overload

import numba

from .kernel_cache import cache_kernel

Kernel = Callable[..., Any]  # its arguments are arrays and numbers of the types that Numba infers


@overload
def njit(function: Kernel, **more: Any) -> Kernel: ...


@overload
def njit(function: None = None, **more: Any) -> Callable[[Kernel], Kernel]: ...


def njit(function: Kernel | None = None, **more: Any) -> Kernel | Callable[[Kernel], Kernel]:
    """Compile ``function`` on its first call: no GIL, no fast-math, cached on disk.

    Numba looks for a cache folder in ``NUMBA_CACHE_DIR``, beside the source file, and in the user's cache
    folder. Where none of them can be written, this one uses a folder of the user's own in the folder for
    temporary files, and where that fails too it compiles without a cache.

    Parameters
    ----------
    function : callable
        Takes arrays and numbers, returns arrays and numbers. All compiled functions that it calls must be
        ``inner`` ones; it is compiled again when any of them changes.
    **more
        Options of ``numba.njit`` for this kernel: ``@njit(fastmath={"contract"})``.

    Returns
    -------
    callable
    """
    if function is None:
        return lambda function: njit(function, **more)
    options = {"nogil": True, "error_model": "numpy", **more}
    try:
        return _compile_and_cache(function, options)
    except RuntimeError:  # no cache folder can be written
        return _compile_in_temporary_folder(function, options)


@overload
def inner(function: Kernel, **more: Any) -> Kernel: ...


@overload
def inner(function: None = None, **more: Any) -> Callable[[Kernel], Kernel]: ...


def inner(function: Kernel | None = None, **more: Any) -> Kernel | Callable[[Kernel], Kernel]:
    """Compile ``function`` as a part of the kernels that call it; it has no cache entry of its own.

    Parameters
    ----------
    function : callable
    **more
        Options, as of `njit`.

    Returns
    -------
    callable
    """
    if function is None:
        return lambda function: inner(function, **more)
    options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **more}
    return _compile(function, nogil=True, error_model="numpy", **options)


def _compile(function: Kernel, **options: Any) -> Kernel:
    compiled: Kernel = numba.njit(**options)(function)
    return compiled


def _compile_and_cache(function: Kernel, options: dict[str, Any]) -> Kernel:
    compiled = _compile(function, **options)
    cache_kernel(compiled)
    return compiled


def _compile_in_temporary_folder(function: Kernel, options: dict[str, Any]) -> Kernel:
    config: Any = numba.config
    before = config.CACHE_DIR
    try:
        config.CACHE_DIR = str(_make_own_temporary_folder())
        return _compile_and_cache(function, options)
    except (RuntimeError, OSError):
        return _compile(function, **options)
    finally:
        config.CACHE_DIR = before


def _make_own_temporary_folder() -> Path:
    """A folder, made where it is missing, that no other user can write to: a cache is unpickled, and so can
    run code. Raises OSError where what stands at its place is none.
    """
    user = os.getuid() if hasattr(os, "getuid") else None  # elsewhere each user has temporary files apart
    folder = Path(tempfile.gettempdir()) / ("gdl-numba-cache" if user is None else f"gdl-numba-cache-{user}")
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()  # of a symbolic link itself
    own = user is None or (found.st_uid == user and not found.st_mode & 0o022)
    if not (stat.S_ISDIR(found.st_mode) and own):
        raise PermissionError(f"{folder} must be a folder that its owner alone can write to, user {user}")
    return folder
