"""What a database was made with: kept in it, compared with what is wanted, and read back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from matching._version import __version__
from matching.config import MatchConfig
from matching.errors import InputError
from matching.output.provenance import as_text, differences, programs

SCHEMA = "2"
REMEDY = "give another --db, or begin it anew with gdl-match collection --restart"


def make_settings(config: MatchConfig) -> dict[str, str]:
    """The rows of the table of settings."""
    return {
        "schema": SCHEMA,
        "version": __version__,
        "config": json.dumps(asdict(config), sort_keys=True),
        "programs": as_text(programs()),
    }


def check_settings(made_with: Mapping[str, str], config: MatchConfig | None, path: Path) -> None:
    """Check that a database was made with the same settings and programs."""
    if made_with.get("schema") != SCHEMA:
        raise InputError(
            f"{path}: the database has schema {made_with.get('schema')}, this program's is {SCHEMA}"
        )
    if config is None:
        return
    wanted = make_settings(config)
    if made_with["version"] != wanted["version"]:
        raise InputError(
            f"{path}: the database was made by version {made_with['version']}, this is {wanted['version']};"
            f" {REMEDY}"
        )
    made_by = json.loads(made_with.get("programs", "{}"))
    if made_by != programs():
        told = differences(made_by, programs()) if made_by else "it does not say which"
        raise InputError(f"{path}: the database was made with other programs ({told}); {REMEDY}")
    if made_with["config"] != wanted["config"]:
        name = describe_difference(json.loads(made_with["config"]), json.loads(wanted["config"]))
        raise InputError(f"{path}: the database was made with other settings ({name}); {REMEDY}")


def read_config(made_with: Mapping[str, str]) -> MatchConfig:
    """Read the settings that a database was made with."""
    config: MatchConfig = _replace_values(MatchConfig(), json.loads(made_with["config"]))
    return config


def _replace_values(record: Any, values: Mapping[str, Any]) -> Any:
    """A record with values that JSON has kept: lists were tuples, dictionaries are records. Values of
    another version that the record doesn't know are passed over.
    """
    kept = {
        name: _replace_values(getattr(record, name), value)
        if isinstance(value, dict)
        else tuple(value)
        if isinstance(value, list)
        else value
        for name, value in values.items()
        if hasattr(record, name)
    }
    return replace(record, **kept)


def describe_difference(made: Mapping[str, Any], wanted: Mapping[str, Any], prefix: str = "") -> str:
    """Describe the first difference of two sets of settings."""
    for name in sorted({*made, *wanted}):
        a, b = made.get(name), wanted.get(name)
        if a != b:
            if isinstance(a, dict) and isinstance(b, dict):
                return describe_difference(a, b, f"{prefix}{name}.")
            return f"{prefix}{name} is {a}, not {b}"
    return "equal"


def has_same_programs(made_with: Mapping[str, str]) -> bool:
    """Whether a database was made with the programs of this process."""
    return made_with.get("programs") == as_text(programs())
