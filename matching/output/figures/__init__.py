"""What is drawn: both pictures with their objects, single objects, and matches without pictures."""
