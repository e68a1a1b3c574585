"""The seconds that steps take."""

import time
from collections.abc import Callable
from typing import TypeVar

from matching._common.once import Later

Value = TypeVar("Value")


class Clock:
    """Measures the seconds of the steps; after each, it calls ``progress(step, n_done, n_steps)``."""

    def __init__(
        self, progress: Callable[[str, int, int], object] | None = None, steps: tuple[str, ...] = ()
    ) -> None:
        self.seconds: dict[str, float] = {}
        self._progress, self._steps, self._last = progress, steps, time.perf_counter()

    def lap(self, step: str) -> None:
        """End a step."""
        now = time.perf_counter()
        self.seconds[step], self._last = now - self._last, now
        if self._progress is not None:
            self._progress(step, self._steps.index(step) + 1, len(self._steps))

    def later(self, step: str, compute: Callable[[], Value]) -> Later[Value]:
        """Defer a part of a step until it is asked for; its seconds are added then."""

        def run() -> Value:
            start = time.perf_counter()
            value = compute()
            self.seconds[step] += time.perf_counter() - start
            return value

        return Later(run)
