"""Compiling with Numba: once if a cache can be written, and otherwise in each process.

Import this module only in modules of kernels, and import those only inside the functions that call them,
because Numba takes longer to import than all the rest of the package.
"""

from collections.abc import Callable
from typing import Any, overload

import numba

from .kernel_cache import KernelCache

Kernel = Callable[..., Any]  # its arguments are arrays and numbers of the types that Numba infers


@overload
def njit(function: Kernel, **more: Any) -> Kernel: ...


@overload
def njit(function: None = None, **more: Any) -> Callable[[Kernel], Kernel]: ...


def njit(function: Kernel | None = None, **more: Any) -> Kernel | Callable[[Kernel], Kernel]:
    """Compile ``function`` on its first call, without the GIL and without fast-math, and cache it on disk.

    The machine code is kept in the folder that ``NUMBA_CACHE_DIR`` names or, if this variable is not set, in
    the user's cache folder. If it can't be written, each process compiles the function.

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
    compiled: Any = numba.njit(**options)(function)
    if compiled is not function:  # NUMBA_DISABLE_JIT leaves the function as it is
        compiled._cache = KernelCache(function)
    kernel: Kernel = compiled
    return kernel


@overload
def inner(function: Kernel, **more: Any) -> Kernel: ...


@overload
def inner(function: None = None, **more: Any) -> Callable[[Kernel], Kernel]: ...


def inner(function: Kernel | None = None, **more: Any) -> Kernel | Callable[[Kernel], Kernel]:
    """Compile ``function`` as a part of the kernels that call it, without a separate cache entry.

    Parameters
    ----------
    function : callable
    **more
        Options, as for `njit`.

    Returns
    -------
    callable
    """
    if function is None:
        return lambda function: inner(function, **more)
    options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **more}
    options = {"nogil": True, "error_model": "numpy", **options}
    compiled: Kernel = numba.njit(**options)(function)
    return compiled
