"""Compiled loops behind the choice of a partition: weights between branches, random walks."""
