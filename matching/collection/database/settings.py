"""The settings that a database was made with: writing them, and comparing them with the current ones."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from matching._version import __version__
from matching.core.config import MatchConfig
from matching.errors import InputError
from matching.output.provenance import RESULT_VERSIONS, as_text, differences, machine, programs

SCHEMA = "5"
REMEDY = "give another --db, or start a new one with gdl-match collection --restart"


def make_settings(config: MatchConfig) -> dict[str, str]:
    """Make the rows of the table of settings."""
    return {
        "schema": SCHEMA,
        "version": __version__,
        "config": json.dumps(asdict(config), sort_keys=True),
        "results": as_text(RESULT_VERSIONS),
        "programs": as_text(_list_programs()),
    }


def _list_programs() -> dict[str, str]:
    """List the versions and the processor on which results depend."""
    return {**programs(), "processor": machine()}


def check_settings(made_with: Mapping[str, str], config: MatchConfig | None, path: Path) -> None:
    """Check that a database has the schema of this program.

    With a config, check also that it was made with the same settings, by stages that give the same results.
    """
    if made_with.get("schema") != SCHEMA:
        raise InputError(
            f"{path}: the database has schema {made_with.get('schema')}, but this program's is {SCHEMA};"
            f" {REMEDY}"
        )
    if config is None:
        return
    if made_with["results"] != as_text(RESULT_VERSIONS):
        difference = describe_difference(json.loads(made_with["results"]), RESULT_VERSIONS)
        raise InputError(
            f"{path}: the database was made by version {made_with['version']}, whose results differ from"
            f" those of {__version__} (stage {difference}); {REMEDY}"
        )
    made, wanted = json.loads(made_with["config"]), json.loads(json.dumps(asdict(config)))
    if made != wanted:
        raise InputError(
            f"{path}: the database was made with other settings ({describe_difference(made, wanted)});"
            f" {REMEDY}"
        )


def describe_other_programs(made_with: Mapping[str, str]) -> str:
    """Describe in which libraries and processor this process differs from the one that made a database."""
    difference = differences(json.loads(made_with["programs"]), _list_programs())
    return f"the database was made with {difference}: results may differ" if difference else ""


def describe_difference(made: Mapping[str, Any], wanted: Mapping[str, Any], prefix: str = "") -> str:
    """Describe the first difference between two sets of settings."""
    for name in sorted({*made, *wanted}):
        a, b = made.get(name), wanted.get(name)
        if a != b:
            if isinstance(a, dict) and isinstance(b, dict):
                return describe_difference(a, b, f"{prefix}{name}.")
            return f"{prefix}{name} is {a}, not {b}"
    return "equal"
