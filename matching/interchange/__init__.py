"""Matches that other programs have found: reading them from memory or files, and writing their groups."""
