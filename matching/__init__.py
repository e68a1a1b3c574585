"""Finds the objects that two pictures both show, by clustering feature correspondences.

The names in `__init__.pyi` are loaded on first use, so that a command starts fast, and can report what fails.
"""

from matching._version import __version__ as __version__
from matching.errors import InputError as InputError


def __getattr__(name: str) -> object:
    _attach()
    return __all__ if name == "__all__" else __getattr__(name)


def __dir__() -> list[str]:
    _attach()
    return __dir__()


def _attach() -> None:
    """Attach the lazy names; lazy_loader is imported only here, because it takes most of the import time."""
    global __getattr__, __dir__, __all__
    import lazy_loader

    __getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
