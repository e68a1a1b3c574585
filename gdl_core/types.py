"""Names of array types, for annotations."""

from ._common.types import Array, Bools, Floats, Int32s, Ints, Scalar, Scalars

__all__ = ["Array", "Bools", "Floats", "Int32s", "Ints", "Scalar", "Scalars"]
