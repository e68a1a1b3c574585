"""A journal: one line of JSON for each finished piece of work, so that a stopped run can continue."""

import json
import os
from pathlib import Path


def read_entries(path: Path, mark: str) -> list[dict]:
    """The entries with this mark, in order. An incomplete last line is cut off the file."""
    if not path.exists():
        return []
    text = path.read_bytes()
    whole = text[: text.rfind(b"\n") + 1]
    if len(whole) < len(text):
        os.truncate(path, len(whole))
    return [entry for entry in map(json.loads, whole.splitlines()) if entry["mark"] == mark]


def append_entry(path: Path, mark: str, **content) -> None:
    """Append one line in one write; the line is on the disk when the call returns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab", buffering=0) as file:
        file.write(json.dumps({"mark": mark, **content}).encode() + b"\n")
        os.fsync(file.fileno())
