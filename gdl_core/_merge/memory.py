"""Prefetching of rows of arrays, for loops over lists that are scattered over the memory.

On graphs of millions of vertices, the merging loop waits for memory most of the time. Nothing here changes a
result.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

READ, KEEP, DATA = 0, 3, 1  # arguments of llvm.prefetch


@intrinsic
def _prefetch(context: Any, array: Any, row: Any) -> Any:
    """Request the first bytes of a row of an array without waiting for them."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array_type = signature.args[0]
        array = context.make_array(array_type)(context, builder, arguments[0])
        zeros = [ir.Constant(arguments[1].type, 0)] * (array_type.ndim - 1)
        find_item: Any = cgutils.get_item_pointer  # it has no type annotations
        address = find_item(context, builder, array_type, array, [arguments[1], *zeros])
        address = builder.bitcast(address, ir.IntType(8).as_pointer())
        integer = ir.IntType(32)
        function_type = ir.FunctionType(ir.VoidType(), [address.type, integer, integer, integer])
        function = builder.module.declare_intrinsic("llvm.prefetch", [address.type], function_type)
        builder.call(function, [address, *(ir.Constant(integer, value) for value in (READ, KEEP, DATA))])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


prefetch: Any = _prefetch  # takes an array and a row
