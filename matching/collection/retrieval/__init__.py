"""Which pictures share descriptors with a query: bits of descriptors, the nearest ones, their votes."""
