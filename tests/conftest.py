"""What the processes of the tests share: the packages' bytecode and the compiled kernels."""

import compileall
import os
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))  # the helper module `definitions`


def pytest_configure(config):
    """Where Python keeps no bytecode, each of the many processes would compile all the sources again.

    Each process of pytest imports Hypothesis, for its plugin, and would first rewrite the assertions in all
    of its modules, which takes 2 s.
    """
    finders = list(sys.meta_path)
    sys.meta_path[:] = [finder for finder in finders if type(finder).__name__ != "AssertionRewritingHook"]
    import_module("hypothesis.strategies")
    sys.meta_path[:] = finders
    if sys.dont_write_bytecode and not hasattr(config, "workerinput"):
        for package in ("gdl_core", "matching", "synth", "eval"):
            compileall.compile_dir(ROOT / package, quiet=2)


@pytest.fixture(scope="session", autouse=True)
def _kernels():
    """Two workers of xdist begin at different ends, as two processes of the command do, and neither compiles
    what the other one has; a kernel that both need is else compiled by both at the same time."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker == "gw0":
        import skimage.data

        from matching import match

        picture = skimage.data.astronaut()[:220, :220]
        match(picture, picture[10:, 10:])
    elif worker == "gw1":
        _compile_grouping()


def _compile_grouping():
    """Compile the kernels of grouping in reverse order."""
    import numpy as np

    import gdl_core
    from matching.correspondences.correspondences import Correspondences
    from matching.grouping.config import MatchConfig
    from matching.grouping.group import group
    from matching.grouping.groups import Part
    from matching.grouping.smooth_map import refine_parts

    chain = gdl_core.AffinityGraph(np.arange(3), np.array([1, 0], np.int32), np.ones(2))
    gdl_core.agdl(chain, [0, 1], min_affinity=0.1)
    rng = np.random.default_rng(0)
    xy0 = rng.uniform(0, 200, (100, 2))
    xy1 = xy0 + rng.normal(0, 0.5, (100, 2))
    xy1[60:] = rng.uniform(0, 200, (40, 2))
    correspondences, config = Correspondences(xy0, xy1, np.tile(np.eye(2), (100, 1, 1))), MatchConfig()
    some, others = np.split(np.arange(100), [55])
    parts = [Part(some, config.smooth_map.largest_bend)]
    refine_parts(correspondences, parts, others, config.smooth_map, config.graph)
    group(correspondences, 90, config)
