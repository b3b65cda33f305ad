"""Authorization requests as they were sent, and what they ask for. Pure."""
