"""Measures, rivals and experiments. `eval` is also a builtin: write `from eval.metrics import f_score`."""
