"""DCQL: queries, how they are read, and what they come to for a credential (OpenID4VP 1.0 §6, §7)."""
