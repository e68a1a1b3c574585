"""Views of arrays for kernels."""

from .types import Array


def view_read_only(array: Array) -> Array:
    """View an array as read-only, for a kernel that only reads it.

    Numba compiles a kernel separately for writable and for read-only arrays, such as memory-mapped ones. With
    read-only views, one version serves both.
    """
    view = array.view()
    view.flags.writeable = False
    return view
