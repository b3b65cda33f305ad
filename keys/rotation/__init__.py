"""How signing keys come, sign and go: states, moves, plan, and the record of it."""
