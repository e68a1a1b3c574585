"""Imports libraries that the base install lacks."""

from importlib import import_module
from typing import Any

from matching.errors import InputError


def import_optional(name: str, need: str, packages: str) -> Any:
    """Import a module of an optional library; `need` begins the error message, `packages` end it."""
    try:
        return import_module(name)
    except ImportError:
        raise InputError(f"{need}: pip install {packages}") from None
