"""The SQLite database of a collection: its connection, tables, checksums and settings."""
