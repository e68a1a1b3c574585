"""A log that stays small even if something fails often."""

import logging
import time
from typing import Any

BURST = 5  # records of each kind that are written ...
WINDOW = 60.0  # ... in this many seconds


class Sparing(logging.Filter):
    """Lets a few records a minute through per line of code and exception; the next counts those left out."""

    def __init__(self) -> None:
        super().__init__()
        self._kinds: dict[tuple[Any, ...], tuple[float, int]] = {}  # when the window began, records since

    def filter(self, record: logging.LogRecord) -> bool:
        """Decide whether to write a record."""
        error = record.exc_info[0] if record.exc_info else None
        kind, now = (record.pathname, record.lineno, error), time.monotonic()
        began, count = self._kinds.get(kind, (now, 0))
        if now - began > WINDOW:
            if count > BURST:
                record.msg = f"{record.getMessage()} ({count - BURST} more like this were left out)"
                record.args = None
            began, count = now, 0
        self._kinds[kind] = began, count + 1
        return count < BURST


def log_sparingly() -> None:
    """Write warnings and errors of all libraries to standard error, a few of each kind."""
    handler = logging.StreamHandler()
    handler.addFilter(Sparing())
    logging.basicConfig(
        level=logging.WARNING, handlers=[handler], format="%(levelname)s: %(name)s: %(message)s"
    )
