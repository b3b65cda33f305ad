"""Client authentication and access tokens at the endpoints for machines."""
