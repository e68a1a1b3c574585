"""Loading libraries without what a process does not need of them."""

from __future__ import annotations

import sys


def load_numba_alone() -> None:
    """Load Numba without SciPy's linear algebra, which it loads for kernels that multiply matrices.

    None here does, and loading takes longer than matching two small pictures. Afterwards Numba refuses such
    kernels, so this is for a process that runs none but the program's own.
    """
    blas = "scipy.linalg.cython_blas"
    if blas in sys.modules:
        return
    sys.modules[blas] = None  # type: ignore[assignment]  # the import fails, and Numba does without
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        del sys.modules[blas]
