"""Matches that another program has found: points in any unit."""
