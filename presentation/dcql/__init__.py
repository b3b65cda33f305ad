"""DCQL: the queries, reading them from a request, evaluating them for a credential (OpenID4VP 1.0 §6, §7)."""
