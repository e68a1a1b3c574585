"""What each stage, and the clustering, contribute."""
