"""Calls to addresses that relying parties have registered."""
