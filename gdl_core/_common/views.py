"""Views of arrays for kernels."""

from .types import Array


def view_read_only(array: Array) -> Array:
    """View an array as read-only, for a kernel that only reads it. Numba compiles separate versions of a
    kernel for writable and for read-only arrays, such as memory-mapped ones, so kernels are given only
    read-only arrays.
    """
    view = array.view()
    view.flags.writeable = False
    return view
