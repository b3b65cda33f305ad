"""The request log of a developer: the steps of the requests of their applications, and test webhooks."""
