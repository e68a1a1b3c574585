"""The SQLite database of a collection: its connection, tables and settings."""
