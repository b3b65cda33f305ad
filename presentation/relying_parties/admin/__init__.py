"""Relying parties in the admin."""
