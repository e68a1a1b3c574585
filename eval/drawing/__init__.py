"""Figures and pictures of the documents."""
