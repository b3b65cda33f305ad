"""`Retry-After`: when a request that is not answered now may be sent again (RFC 9110 §10.2.3)."""

from typing import TypeVar

from django.http import HttpResponseBase

SHORTLY = 10  # seconds after which what is away is mostly back
Response = TypeVar("Response", bound=HttpResponseBase)


def again_after(seconds: int | str, response: Response) -> Response:
    """The response, which says so."""
    response.headers["Retry-After"] = str(seconds)
    return response
