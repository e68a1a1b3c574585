"""A hook of MkDocs: pages that the navigation does not list are added at the end of "How to"."""

from pathlib import Path
from typing import Any


def on_config(config: Any) -> Any:
    """Add to the navigation all pages of the folder that it does not list yet."""
    listed = set(_pages(config.nav))
    rest = sorted({path.name for path in Path(config.docs_dir).glob("*.md")} - listed)
    next(entry["How to"] for entry in config.nav if "How to" in entry).extend(rest)
    return config


def _pages(entry: Any) -> list[str]:
    """The names of all pages in a part of the navigation: a page, a list, or a mapping of titles to parts."""
    if isinstance(entry, str):
        return [entry]
    return [page for part in (entry.values() if isinstance(entry, dict) else entry) for page in _pages(part)]
