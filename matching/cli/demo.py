"""The pictures of `gdl-match --demo`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def demo_pair() -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Make two composite pictures, (960, 960, 3) each, from photographs that scikit-image ships.

    Four objects are in both pictures; those in the second one are bent.
    """
    from synth.composite import composite_pair  # only the demo needs these
    from synth.photographs import shipped

    pair = composite_pair(shipped(), n_common=4, sigma=10.0, seed=5)
    return pair.image0, pair.image1
