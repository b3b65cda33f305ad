"""Building blocks of the admin."""
