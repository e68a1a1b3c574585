"""Candidate correspondences of two pictures, and the distances between correspondences."""
