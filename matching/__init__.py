"""Finds the objects that two pictures both show, by clustering feature correspondences.

The names in `__init__.pyi` load on first use, so that a command starts fast and can report what fails.
"""

import lazy_loader

from matching._version import __version__ as __version__
from matching.errors import InputError as InputError

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
