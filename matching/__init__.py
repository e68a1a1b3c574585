"""Finds the objects that two pictures both show, by clustering feature correspondences.

The names of `__init__.pyi` load when they are first used, so that a command can report an interrupt or a
broken installation in a line.
"""

import lazy_loader

from matching._version import __version__ as __version__
from matching.errors import InputError as InputError

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
