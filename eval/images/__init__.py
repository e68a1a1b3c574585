"""Experiments on clustering sets of images."""
