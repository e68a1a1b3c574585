"""Names of array types, for annotations."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Bools = NDArray[np.bool_]
Float32s = NDArray[np.float32]
Floats = NDArray[np.float64]
Int16s = NDArray[np.int16]
Ints = NDArray[np.int64]
Picture = NDArray[np.uint8]
