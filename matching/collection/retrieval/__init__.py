"""The pictures that share descriptors with a query: bits of descriptors, nearest entries, and their votes."""
