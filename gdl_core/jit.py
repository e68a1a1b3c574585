"""Compiles kernels of programs that build on this package: `njit` for kernels, `inner` for their parts."""

from ._common.jit import inner, njit

__all__ = ["inner", "njit"]
