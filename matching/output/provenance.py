"""What results depend on, besides pictures and settings: the versions of programs, and the processor.

Equal programs on one kind of processor give equal results, bit by bit. On each generation of processors,
OpenCV's code rounds differently, so that it finds different features.
"""

import hashlib
import json
import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from matching._common import opencv
from matching._version import __version__

RESULT_VERSIONS = {"pictures": 1, "features": 4, "candidates": 3, "grouping": 14, "objects": 10}
"""Version numbers of the results of each stage: a number goes up with each change of any result.

A collection continues if all numbers are equal, whatever else has changed. tests/matching/test_stages.py
fails if results have changed but no number has.
"""

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "llvmlite", "pillow", "pillow-heif")


@cache
def programs() -> dict[str, str]:
    """List the versions of the programs on which results depend."""
    return {
        "gdl-match": __version__,
        "results": as_text(RESULT_VERSIONS),
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "OpenCV": opencv.VERSION,
        **{name: _version(name) for name in LIBRARIES},
    }


@cache
def machine() -> str:
    """Name the kind of processor, as OpenCV detects it, and the build of OpenCV."""
    build = hashlib.sha256(opencv.BUILD.encode()).hexdigest()[:12]
    return f"{platform.machine()}, {opencv.CPU_FEATURES}, OpenCV build {build}"


def as_text(values: Mapping[str, object]) -> str:
    """Write a mapping as JSON; equal mappings give equal text."""
    return json.dumps(values, sort_keys=True)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"
