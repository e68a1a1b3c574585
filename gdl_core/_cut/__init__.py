"""Compiled loops behind the choice of a partition: degrees of branches, their choice, random walks."""
