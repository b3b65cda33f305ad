"""The description of the endpoints for machines (OpenAPI 3.1), and the page it is read on."""
