"""Database connections, statements and tables: additions to Django."""
