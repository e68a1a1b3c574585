"""From inputs to results: two pictures, one picture, or given matches."""
