"""Compiling with Numba: paid once wherever a cache can be written, and working where none can.

Import this module only from modules that hold kernels, and those only inside the functions that call them:
Numba takes longer to import than everything else in the package together.
"""

import os
import stat
import tempfile
from pathlib import Path

import numba


def njit(function=None, **more):
    """Compile ``function`` on its first call: no GIL, no fast-math, cached on disk.

    Numba looks for a cache folder in ``NUMBA_CACHE_DIR``, beside the source file, and in the user's cache
    folder. Where none of them can be written, this one uses a folder of the user's own in the folder for
    temporary files, and where that fails too it compiles without a cache.

    Parameters
    ----------
    function : callable
        Takes arrays and numbers, returns arrays and numbers. Everything it calls should be ``inner``
        functions of the same file, because a cached kernel is thrown away only when its own file changes.
    **more
        Options of ``numba.njit`` for this kernel: ``@njit(fastmath={"contract"})``.
    """
    if function is None:
        return lambda function: njit(function, **more)
    options = {"nogil": True, "error_model": "numpy", **more}
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
        numba.config.CACHE_DIR = str(_own_temporary_folder())
        return numba.njit(cache=True, **options)(function)
    except (RuntimeError, OSError):
        return numba.njit(**options)(function)
    finally:
        numba.config.CACHE_DIR = before


def _own_temporary_folder():
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
