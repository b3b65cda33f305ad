"""Trials of the limits: for each one what is counted, until the limit answers."""
