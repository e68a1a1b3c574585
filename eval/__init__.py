"""Experiments and what they measure (`eval` is also a builtin: import from its modules by full name)."""
