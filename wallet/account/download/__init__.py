"""The download of everything that is kept about a holder."""
