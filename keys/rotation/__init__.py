"""The rotation of signing keys: states, moves, plan and key events."""
