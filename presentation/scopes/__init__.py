"""Scopes: records that operators edit, each an alias of a DCQL query (OpenID4VP 1.0 §5.5)."""
