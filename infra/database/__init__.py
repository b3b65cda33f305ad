"""Connections, statements and tables: what Django does not do by itself."""
