"""Names of array types, for annotations."""

from ._common.types import Array as Array
from ._common.types import Bools as Bools
from ._common.types import Floats as Floats
from ._common.types import Int32s as Int32s
from ._common.types import Ints as Ints
from ._common.types import Scalar as Scalar
from ._common.types import Scalars as Scalars
