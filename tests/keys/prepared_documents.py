"""The published documents, whose bytes are prepared."""

from keys import endpoints


def rebuild() -> None:
    """Prepare the bytes anew, from the database of this test."""
    for document in (endpoints.jwks, endpoints.root_pem, endpoints.root_der):
        document.refresh()
