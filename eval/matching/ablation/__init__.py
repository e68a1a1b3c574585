"""What each step, and the clustering, contribute."""
