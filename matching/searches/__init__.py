"""The searches for objects in two pictures, and the judge of what they propose."""
