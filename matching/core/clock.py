"""The seconds that stages take."""

import time
from collections.abc import Callable


class Clock:
    """Measures the seconds of the stages; after each, it calls ``progress(stage, n_done, n_stages)``."""

    def __init__(
        self, progress: Callable[[str, int, int], object] | None = None, stages: tuple[str, ...] = ()
    ) -> None:
        self.seconds: dict[str, float] = {}
        self._progress, self._stages, self._last = progress, stages, time.perf_counter()

    def lap(self, stage: str) -> None:
        """End a stage."""
        now = time.perf_counter()
        self.seconds[stage], self._last = now - self._last, now
        if self._progress is not None:
            self._progress(stage, self._stages.index(stage) + 1, len(self._stages))
