"""Developers register their own relying parties in the sandbox."""
