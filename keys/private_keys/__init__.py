"""Private keys: what signs, where they live, and how they are kept for a bad day."""
