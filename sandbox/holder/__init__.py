"""A holder without a screen, for tests in CI."""
