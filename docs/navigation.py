"""A hook of MkDocs: pages that the navigation does not name come last under "How to"."""

from pathlib import Path
from typing import Any


def on_config(config: Any) -> Any:
    """Add the pages to the navigation that stand in the folder of the pages and nowhere in it."""
    listed = set(_pages(config.nav))
    rest = sorted({path.name for path in Path(config.docs_dir).glob("*.md")} - listed)
    next(entry["How to"] for entry in config.nav if "How to" in entry).extend(rest)
    return config


def _pages(entry: Any) -> list[str]:
    """The names of all pages in a part of the navigation: a page, a list, or a mapping of titles to parts."""
    if isinstance(entry, str):
        return [entry]
    return [page for part in (entry.values() if isinstance(entry, dict) else entry) for page in _pages(part)]
