"""What one picture shows more than once."""
