"""Calling relying applications, whose addresses nobody but they chose."""
