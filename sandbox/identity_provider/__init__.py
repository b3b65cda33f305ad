"""The simulated identity provider: personas, and the page on which one is picked."""
