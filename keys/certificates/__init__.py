"""Certificates of signing keys: the sandbox's authority, chains, received files, warnings before they end."""
