"""Other methods that group candidate correspondences."""
