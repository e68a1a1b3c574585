"""Experiments on photographs and other real pictures."""
