"""The settings that a database was made with: writing, comparing with the current ones, and reading."""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from matching._version import __version__
from matching.config import MatchConfig
from matching.errors import InputError
from matching.output.provenance import STAGES, as_text, programs

SCHEMA = "3"
KEY_OF_PROGRAMS = "programs:"  # begins the names of other versions, whose results were compared
REMEDY = "give another --db, or start a new one with gdl-match collection --restart"


def make_settings(config: MatchConfig) -> dict[str, str]:
    """The rows of the table of settings."""
    return {
        "schema": SCHEMA,
        "version": __version__,
        "config": json.dumps(asdict(config), sort_keys=True),
        "results": as_text(STAGES),
        "programs": as_text(programs()),
    }


def check_schema(made_with: Mapping[str, str], path: Path) -> None:
    """Check that a database has the schema of this program."""
    if made_with.get("schema") != SCHEMA:
        raise InputError(
            f"{path}: the database has schema {made_with.get('schema')}, but this program's is {SCHEMA};"
            f" {REMEDY}"
        )


def check_settings(made_with: Mapping[str, str], config: MatchConfig | None, path: Path) -> None:
    """Check that a database was made with the same settings and by stages that give the same results."""
    if config is None:
        return
    if not has_same_results(made_with):
        difference = describe_difference(json.loads(made_with["results"]), STAGES)
        raise InputError(
            f"{path}: the database was made by version {made_with['version']}, whose results differ from"
            f" those of {__version__} (stage {difference}); {REMEDY}"
        )
    if (made_config := read_config(made_with)) != config:
        name = describe_difference(*(json.loads(json.dumps(asdict(c))) for c in (made_config, config)))
        raise InputError(f"{path}: the database was made with other settings ({name}); {REMEDY}")


def read_config(made_with: Mapping[str, str]) -> MatchConfig:
    """Read the settings that a database was made with."""
    config: MatchConfig = _replace_values(MatchConfig(), json.loads(made_with["config"]))
    return config


def _replace_values(record: Any, values: Mapping[str, Any]) -> Any:
    """Restore a record from JSON: lists become tuples, dictionaries records; unknown names are skipped."""
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
    """Describe the first difference between two sets of settings."""
    for name in sorted({*made, *wanted}):
        a, b = made.get(name), wanted.get(name)
        if a != b:
            if isinstance(a, dict) and isinstance(b, dict):
                return describe_difference(a, b, f"{prefix}{name}.")
            return f"{prefix}{name} is {a}, not {b}"
    return "equal"


def has_same_results(made_with: Mapping[str, str]) -> bool:
    """Test whether the stages that made a database give the same results as this program's stages."""
    return made_with.get("results") == as_text(STAGES)


def list_programs(made_with: Mapping[str, str]) -> list[Mapping[str, str]]:
    """The program versions that a database was made with, beginning with the first."""
    names = ["programs", *sorted(name for name in made_with if name.startswith(KEY_OF_PROGRAMS))]
    return [json.loads(made_with[name]) for name in names]
