"""Identity providers: their contract, their settings, and a module for each."""
