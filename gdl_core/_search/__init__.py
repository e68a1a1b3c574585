"""Nearest neighbours: exact, approximate, and those of a given graph."""
