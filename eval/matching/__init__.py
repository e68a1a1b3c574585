"""Experiments on matching."""
