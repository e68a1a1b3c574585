"""Benchmarks of the clusterer and of common alternatives: time, memory and quality."""
