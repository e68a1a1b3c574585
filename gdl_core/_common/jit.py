"""Compiles functions with Numba: once if a cache can be written, and otherwise in each process.

Import this module only in modules of kernels, and import those only inside the functions that call them,
because Numba takes longer to import than all the rest of the package.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numba

from .kernel_cache import KernelCache

Kernel = Callable[..., Any]  # its arguments are arrays and numbers of the types that Numba infers
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def njit(function: Kernel | None = None, **options: Any) -> Kernel:
    """Compile ``function`` on its first call, without the GIL and without fast-math, and cache it on disk.

    The machine code is kept in the folder that ``NUMBA_CACHE_DIR`` names or, if this variable is not set, in
    the user's cache folder. If it can't be written, each process compiles the function.

    Parameters
    ----------
    function : callable
        Takes arrays and numbers, returns arrays and numbers. All compiled functions that it calls must be
        ``inner`` ones; it is compiled again when any of them changes.
    **options
        Options of ``numba.njit`` for this kernel: ``@njit(fastmath={"contract"})``.

    Returns
    -------
    callable
        The kernel; without ``function``, a decorator that makes one.
    """
    if function is None:
        return partial(njit, **options)
    kernel: Any = numba.njit(**{**OPTIONS, **options})(function)
    if kernel is not function:  # NUMBA_DISABLE_JIT leaves the function as it is
        kernel._cache = KernelCache(function)
    return kernel  # type: ignore[no-any-return]


def inner(function: Kernel | None = None, **options: Any) -> Kernel:
    """Compile ``function`` as a part of the kernels that call it, without a separate cache entry.

    Parameters
    ----------
    function : callable
    **options
        Options, as for `njit`.

    Returns
    -------
    callable
        As for `njit`.
    """
    if function is None:
        return partial(inner, **options)
    without_wrappers = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return numba.njit(**{**OPTIONS, **without_wrappers, **options})(function)  # type: ignore[no-any-return]
