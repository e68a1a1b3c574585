"""Libraries that the base install lacks."""

from importlib import import_module
from typing import Any

from matching.errors import InputError


def import_optional(name: str, need: str, extra: str) -> Any:
    """Import a module of an optional library; `need` says who needs it, and `extra` is its extra."""
    try:
        return import_module(name)
    except ImportError:
        raise InputError(f"{need}: pip install 'gdl-match[{extra}]'") from None
