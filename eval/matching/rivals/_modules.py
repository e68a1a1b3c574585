"""Tables whose entries are the modules of a folder: to add an entry, add a file."""

import pkgutil
from importlib import import_module
from types import ModuleType


def list_modules(package: str) -> tuple[str, ...]:
    """List the modules of a package in alphabetical order, without loading them.

    An entry has the name of its file, with hyphens for underscores. Files that begin with an underscore are
    not entries.
    """
    names = (module.name for module in pkgutil.iter_modules(import_module(package).__path__))
    return tuple(name.replace("_", "-") for name in names if not name.startswith("_"))


def load_module(package: str, name: str) -> ModuleType:
    """Load the module of an entry."""
    return import_module(f"{package}.{name.replace('-', '_')}")
