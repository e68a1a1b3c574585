"""What is drawn: both pictures with their objects, each object by itself, matches without pictures."""
