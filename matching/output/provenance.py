"""What results depend on, besides pictures and settings: this program, its libraries, and the processor.

Equal programs on one kind of processor give equal results, bit by bit. On each generation of processors,
OpenCV's code rounds differently, so that it finds different features, and so does the BLAS.
"""

import hashlib
import json
import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from matching._common import opencv
from matching._common.threads import describe_blas
from matching._version import __version__

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = "gdl_core", "matching"
LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "llvmlite", "pillow", "pillow-heif")


@cache
def code_digest() -> str:
    """Make the digest of the program: of all Python files of its packages, wherever they are installed."""
    return digest_code(ROOT)


def digest_code(root: Path) -> str:
    """Make the digest of all Python files of the packages in a folder: of their paths and their lines."""
    files = (path for package in PACKAGES for path in (root / package).rglob("*.py"))
    parts = []
    for name, path in sorted((path.relative_to(root).as_posix(), path) for path in files):
        content = path.read_bytes().replace(b"\r\n", b"\n")
        parts.append(f"{name} {hashlib.sha256(content).hexdigest()}\n")
    return hashlib.sha256("".join(parts).encode()).hexdigest()[:16]


@cache
def programs() -> dict[str, str]:
    """List the versions of the programs on which results depend."""
    return {
        "gdl-match": __version__,
        "code": code_digest(),
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "OpenCV": opencv.VERSION,
        **{name: _version(name) for name in LIBRARIES},
    }


@cache
def machine() -> str:
    """Name the kind of processor, as OpenCV and the BLAS detect it, and the builds of both."""
    build = hashlib.sha256(opencv.BUILD.encode()).hexdigest()[:12]
    return f"{platform.machine()}, {opencv.CPU_FEATURES}, OpenCV build {build}, {describe_blas()}"


def as_text(values: Mapping[str, object] | str) -> str:
    """Write a mapping or a text as JSON; equal ones give equal text."""
    return json.dumps(values, sort_keys=True)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"
