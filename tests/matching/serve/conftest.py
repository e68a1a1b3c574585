import sys
from pathlib import Path

import pytest

STAND_IN = Path(__file__).with_name("standing_in.py")


@pytest.fixture
def quick_workers(monkeypatch):
    """Worker processes that do nothing, see `standing_in`."""
    pytest.importorskip("fastapi", reason="the page needs FastAPI")
    from matching.serve import jobs, processes

    monkeypatch.setattr(processes, "command", lambda role, _: [sys.executable, "-ISS", str(STAND_IN), role])
    monkeypatch.setattr(jobs, "PAUSE", 0.01)
    monkeypatch.setattr(jobs, "SWEEP", 0.05)
