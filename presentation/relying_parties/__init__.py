"""Relying parties: who may ask for what, how they are registered, and how they prove who they are."""
