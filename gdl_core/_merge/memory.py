"""Faster access to memory: prefetching rows of arrays, and large pages.

On graphs of millions of vertices, the merging loop waits for memory most of the time, because the vertices of
a list are scattered all over the memory. Nothing here changes a result.
"""

import sys
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .._common.jit import inner
from .._common.types import Array

AHEAD = 16  # edges; visiting that many takes about as long as one access to memory
READ, KEEP, DATA = 0, 3, 1  # arguments of llvm.prefetch
LARGE = 2**22  # bytes from which on the call is worth its cost
IS_LINUX, PAGE, LARGE_PAGES = sys.platform == "linux", 4096, 14  # arguments of madvise
_madvise: Any = types.ExternalFunction("madvise", types.int32(types.uintp, types.uintp, types.int32))


@intrinsic
def _prefetch(context: Any, array: Any, row: Any) -> Any:
    """Request the first bytes of a row of an array without waiting for them."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array_type = signature.args[0]
        array = context.make_array(array_type)(context, builder, arguments[0])
        zeros = [ir.Constant(arguments[1].type, 0)] * (array_type.ndim - 1)
        find: Any = cgutils.get_item_pointer  # it has no type annotations
        at = find(context, builder, array_type, array, [arguments[1], *zeros])
        at = builder.bitcast(at, ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        how = ir.FunctionType(ir.VoidType(), [at.type, number, number, number])
        ask = builder.module.declare_intrinsic("llvm.prefetch", [at.type], how)
        builder.call(ask, [at, *(ir.Constant(number, value) for value in (READ, KEEP, DATA))])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


prefetch: Any = _prefetch  # takes an array and a row


@inner
def use_large_pages(array: Array) -> Array:
    """Put an array into large pages if the system has them, as NumPy does for its allocations."""
    if IS_LINUX and array.nbytes >= LARGE:
        start = (np.uint64(array.ctypes.data) // np.uint64(PAGE) + np.uint64(1)) * np.uint64(PAGE)
        _madvise(start, np.uint64(array.nbytes - PAGE), np.int32(LARGE_PAGES))
    return array
