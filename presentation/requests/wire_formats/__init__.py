"""The wire formats of registrations: how a request is read, where its answer goes, and what that holds."""
