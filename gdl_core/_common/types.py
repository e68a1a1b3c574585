"""Names of array types, for annotations."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Arrays = tuple[Array, ...]
Scalar = Any  # in compiled code: an integer, float or bool of Python or NumPy, which Numba treats alike
Scalars = Any  # several of them
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Int32s = NDArray[np.int32]
Ints = NDArray[np.int64]
Metric = str | Callable[[Array, Array], float]
