"""The guide for developers, served by the sandbox that it is about."""
