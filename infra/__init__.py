"""What every app needs and no product knowledge. A module is here only if two apps import it."""
