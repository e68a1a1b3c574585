"""Scripts import this first, so that any error that is not caught, even a failing import, gives status 3.

Python itself would give status 1, which some scripts use for a result.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def end(kind: type[BaseException], error: BaseException, trace) -> None:
    """End the process: with 130 and a line if the user stopped it, else with 3 and the traceback."""
    if issubclass(kind, KeyboardInterrupt):
        print(f"{Path(sys.argv[0]).name}: stopped", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(130 if issubclass(kind, KeyboardInterrupt) else 3)


sys.excepthook = end
