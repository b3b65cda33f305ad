"""A relying application of our own, to try requests and see answers verified."""
