"""The pictures of `gdl-match --demo`."""

from matching._common.types import Bytes


def make_demo_pair() -> tuple[Bytes, Bytes]:
    """Make two composites of shipped photographs with four common objects -> tuple of (960, 960, 3) uint8."""
    from synth.composite import composite_pair  # only the demo needs these
    from synth.photographs import read_shipped

    pair = composite_pair(read_shipped(), n_common=4, sigma=10.0, seed=5)
    return pair.image0, pair.image1
