"""Views of arrays for kernels."""

from .types import Array


def view_read_only(array: Array) -> Array:
    """View an array that a kernel only reads: Numba compiles a kernel anew for arrays that can't be written,
    such as mapped ones, so it is given only such.
    """
    view = array.view()
    view.flags.writeable = False
    return view
