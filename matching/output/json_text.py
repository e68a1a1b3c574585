"""JSON that is easy to read: one entry per line, with all numbers of an outline or a matrix on one line."""

import json
from collections.abc import Sequence
from typing import Any


def json_text(value: Any, depth: int = 0) -> str:
    """Format a value as JSON, with every list without objects on one line, indented by `depth` spaces."""
    if isinstance(value, dict) and value:
        entries = [f"{json.dumps(key)}: {json_text(entry, depth + 1)}" for key, entry in value.items()]
        return _block("{", entries, "}", depth)
    if isinstance(value, (list, tuple)) and any(isinstance(entry, dict) for entry in value):
        return _block("[", [json_text(entry, depth + 1) for entry in value], "]", depth)
    return json.dumps(value)


def _block(start: str, entries: Sequence[str], end: str, depth: int) -> str:
    rim = "\n" + " " * depth
    return start + ",".join(f"{rim} {entry}" for entry in entries) + rim + end
