"""One authorization request: its parameters, its client, its interaction, its next step and its answer."""
