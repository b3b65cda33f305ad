"""Stand-ins for other parties. Installed in the sandbox only; no other package imports it."""
