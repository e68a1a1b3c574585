"""What a database was made with: kept in it, compared with what is wanted, and read back."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import matching
from matching.config import MatchConfig
from matching.errors import InputError
from matching.output.provenance import as_text, differences, programs

SCHEMA = "1"
REMEDY = "give another --db, or --restart to begin it anew"


def settings_of(config):
    """The rows of the table settings for a MatchConfig: name -> value."""
    return {
        "schema": SCHEMA,
        "version": matching.__version__,
        "config": json.dumps(asdict(config), sort_keys=True),
        "programs": as_text(programs()),
    }


def check_settings(made_with, config, path):
    """Raise InputError where a database was made with other settings or programs.

    made_with : its settings, name -> value
    config : MatchConfig wanted, None for any
    """
    if made_with.get("schema") != SCHEMA:
        raise InputError(
            f"{path}: the database has schema {made_with.get('schema')}, this program's is {SCHEMA}"
        )
    if config is None:
        return
    wanted = settings_of(config)
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
        name = _first_difference(json.loads(made_with["config"]), json.loads(wanted["config"]))
        raise InputError(f"{path}: the database was made with other settings ({name}); {REMEDY}")


def config_of_store(store):
    """The MatchConfig that a database was made with."""
    made_with = json.loads(store.value("SELECT value FROM settings WHERE name = 'config'"))
    return _with_values(MatchConfig(), made_with)


def _with_values(record, values):
    """A record with values that JSON has kept: lists were tuples, dictionaries are records. Values of
    another version that the record doesn't know are passed over.
    """
    kept = {
        name: _with_values(getattr(record, name), value)
        if isinstance(value, dict)
        else tuple(value)
        if isinstance(value, list)
        else value
        for name, value in values.items()
        if hasattr(record, name)
    }
    return replace(record, **kept)


def _first_difference(made, wanted, prefix=""):
    for name in sorted({*made, *wanted}):
        a, b = made.get(name), wanted.get(name)
        if a != b:
            if isinstance(a, dict) and isinstance(b, dict):
                return _first_difference(a, b, f"{prefix}{name}.")
            return f"{prefix}{name} is {a}, not {b}"
    return "equal"


def has_same_programs(store):
    """Whether a database was made with the programs of this process."""
    made_with = store.rows("SELECT value FROM settings WHERE name = 'programs'")
    return made_with == [(as_text(programs()),)]
