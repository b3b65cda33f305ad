"""A holder that acts by itself, for tests of relying applications in CI."""
