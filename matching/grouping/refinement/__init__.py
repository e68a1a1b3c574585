"""What follows clustering: each object is checked, completed and compared with the others."""
