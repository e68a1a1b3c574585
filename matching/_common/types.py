"""Names of array types, for annotations."""

import numpy as np
from numpy.typing import NDArray

from gdl_core.types import Array, Bools, Floats, Int32s, Ints, Scalar, Scalars

__all__ = ["Array", "Bools", "Bytes", "Float32s", "Floats", "Int8s", "Int32s", "Ints", "Scalar", "Scalars"]

Bytes = NDArray[np.uint8]
Float32s = NDArray[np.float32]
Int8s = NDArray[np.int8]
