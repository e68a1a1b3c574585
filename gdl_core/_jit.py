"""Compiling with Numba: paid once wherever a cache can be written, and working where none can.

Import this module only from modules that hold kernels, and those only inside the functions that call them:
Numba takes longer to import than everything else in the package together.
"""

import tempfile
from pathlib import Path

import numba


def njit(function):
    """Compile ``function`` on its first call: no GIL, no fast-math, cached on disk.

    Numba looks for a cache folder in ``NUMBA_CACHE_DIR``, beside the source file, and in the user's cache
    folder. Where none of them can be written, this one uses the folder for temporary files, and where that
    fails too it compiles without a cache.

    Parameters
    ----------
    function : callable
        Takes arrays and numbers, returns arrays and numbers. Everything it calls should be ``inner``
        functions of the same file, because a cached kernel is thrown away only when its own file changes.
    """
    options = {"nogil": True, "error_model": "numpy"}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no cache folder can be written
        return _cached_in_temporary_folder(function, options)


def inner(function):
    """Compile ``function`` as a part of the kernels that call it; it has no cache entry of its own."""
    return numba.njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)(
        function
    )


def _cached_in_temporary_folder(function, options):
    before = numba.config.CACHE_DIR
    try:
        numba.config.CACHE_DIR = str(Path(tempfile.gettempdir()) / "gdl-numba-cache")
        return numba.njit(cache=True, **options)(function)
    except (RuntimeError, OSError):
        return numba.njit(**options)(function)
    finally:
        numba.config.CACHE_DIR = before
