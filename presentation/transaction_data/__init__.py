"""The four types of transaction data: how they are read, shown and documented (OpenID4VP 1.0 §8.4)."""
