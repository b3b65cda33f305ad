"""Verifying who a holder is: attempts, their state machine, their pages, and what follows."""
