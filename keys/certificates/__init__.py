"""Certificates of signing keys: the sandbox's authority, chains, what authorities send, when they end."""
