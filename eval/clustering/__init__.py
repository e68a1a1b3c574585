"""Benchmarks of the clusterer: time, memory and quality, beside what a user would take instead."""
