"""What each stage, and the clustering, is worth."""
