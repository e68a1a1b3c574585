"""How long tests wait for what must come."""

PATIENCE = 900  # seconds: only so that a hang ends, never a measure of speed
