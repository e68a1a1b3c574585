"""Matches that other programs found: read from memory or files, and their groups written back."""
