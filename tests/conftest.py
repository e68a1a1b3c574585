"""What the processes of the tests share: the packages' bytecode and the compiled kernels."""

import compileall
import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def pytest_configure(config):
    """Where Python keeps no bytecode, each of the many processes would compile all the sources again."""
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
        from matching.cli.compiling import compile_grouping

        compile_grouping()
