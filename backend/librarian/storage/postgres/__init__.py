"""The same storage in PostgreSQL."""
