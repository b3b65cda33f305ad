"""The description of the endpoints for machines, docs/openapi.yaml."""
