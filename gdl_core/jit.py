"""Decorators for programs that build on this package: `njit` compiles a kernel, `inner` marks its parts."""

from ._common.jit import inner, njit

__all__ = ["inner", "njit"]
