"""JSON that a person can read too: an entry a line, and all numbers of an outline or a matrix on one line."""

from __future__ import annotations

import json
from typing import Any


def json_text(value: Any, depth: int = 0) -> str:
    """The text of anything that JSON knows; lists that hold no objects stand on one line.

    >>> print(json_text({"id": 0, "outline": [[1, 2], [3, 4]], "of": [{"a": None}]}))
    {
     "id": 0,
     "outline": [[1, 2], [3, 4]],
     "of": [
      {
       "a": null
      }
     ]
    }
    """
    if isinstance(value, dict) and value:
        entries = [f"{json.dumps(key)}: {json_text(entry, depth + 1)}" for key, entry in value.items()]
        return _block("{", entries, "}", depth)
    if isinstance(value, (list, tuple)) and any(isinstance(entry, dict) for entry in value):
        return _block("[", [json_text(entry, depth + 1) for entry in value], "]", depth)
    return json.dumps(value)


def _block(start, entries, end, depth):
    rim = "\n" + " " * depth
    return start + ",".join(f"{rim} {entry}" for entry in entries) + rim + end
