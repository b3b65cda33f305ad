"""The pages of identity checks, and the addresses for identity providers."""
