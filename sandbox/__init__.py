"""All that plays the other side. Installed in the sandbox only; nothing outside imports it."""
