"""The request log of a developer: what the requests of their applications did, step by step, and test webhooks."""
