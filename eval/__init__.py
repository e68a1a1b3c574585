"""Experiments and measures (`eval` is also a builtin: import from its modules by full name)."""
