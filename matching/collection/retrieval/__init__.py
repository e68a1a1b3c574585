"""Which pictures share descriptors with a query: short codes in inverted lists, searched and voted on."""
