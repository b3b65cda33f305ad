"""Relying applications at endpoints for machines: how they prove who they are, and what that opens."""
