"""The header `Retry-After`: when a client may repeat a refused request (RFC 9110 §10.2.3)."""

from typing import TypeVar

from django.http import HttpResponseBase

SHORTLY = 10  # seconds, after which an unavailable database is usually available again
Response = TypeVar("Response", bound=HttpResponseBase)


def again_after(seconds: int | str, response: Response) -> Response:
    """Sets the header, and gives the same response."""
    response.headers["Retry-After"] = str(seconds)
    return response
