"""Calling outside parties: identity providers, and relying applications, who choose their own addresses."""
