"""Candidate correspondences between two pictures and the distances between them."""
