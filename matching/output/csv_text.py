"""Tables as CSV, whatever names of files they hold."""

import csv
import io
from collections.abc import Iterable
from typing import Any


def encode_csv(rows: Iterable[Iterable[Any]], line_end: str = "\n") -> bytes:
    """Write the rows of a table; names that are no valid text are escaped."""
    text = io.StringIO()
    csv.writer(text, lineterminator=line_end).writerows(rows)
    return text.getvalue().encode("utf-8", "backslashreplace")
