"""The simulated identity provider: personas, and the page on which a person chooses one."""
