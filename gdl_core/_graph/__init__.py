"""Compiled loops of the neighbourhood graph."""
