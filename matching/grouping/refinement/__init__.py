"""The steps after clustering: each object is checked, completed, and compared with the others."""
