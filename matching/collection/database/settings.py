"""The settings that a database was made with: writing them, and comparing them with the current ones."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from matching._version import __version__
from matching.errors import InputError
from matching.grouping.config import MatchConfig
from matching.output.provenance import as_text, code_digest, machine, programs

SCHEMA = "6"
REMEDY = "give another --db, or start a new one with gdl-match collection --restart"


def make_settings(config: MatchConfig) -> dict[str, str]:
    """Make the rows of the table of settings."""
    return {
        "schema": SCHEMA,
        "version": __version__,
        "config": as_text(asdict(config)),
        "code": as_text(code_digest()),
        "programs": as_text(_list_programs()),
    }


def _list_programs() -> dict[str, str]:
    """List the versions and the processor on which results depend."""
    return {**programs(), "processor": machine()}


def check_settings(
    made_with: Mapping[str, str], wanted: Mapping[str, str], name: str, remedy: str = REMEDY
) -> None:
    """Raise InputError unless a database was made with the wanted settings, JSON by name."""
    for key, value in wanted.items():
        if (made := made_with.get(key, "null")) != value:
            difference = describe_difference({key: json.loads(made)}, {key: json.loads(value)})
            raise InputError(f"{name} was made in another way: {difference}; {remedy}")


def describe_other_programs(made_with: Mapping[str, str]) -> str:
    """Describe in which libraries and processor this process differs from the one that made a database."""
    made, here = json.loads(made_with["programs"]), _list_programs()
    return "" if made == here else f"results may differ: of the database, {describe_difference(made, here)}"


def describe_difference(made: Mapping[str, Any], wanted: Mapping[str, Any], prefix: str = "") -> str:
    """Describe the first difference between two sets of settings."""
    for name in sorted({*made, *wanted}):
        a, b = made.get(name), wanted.get(name)
        if a != b:
            if isinstance(a, dict) and isinstance(b, dict):
                return describe_difference(a, b, f"{prefix}{name}.")
            return f"{prefix}{name} is {a}, not {b}"
    return "equal"
