"""The rotation of signing keys: states, transitions, plan and key events."""
