"""Relying parties: what they may ask for, how they are registered, and how they authenticate."""
