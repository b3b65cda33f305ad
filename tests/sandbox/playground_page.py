"""What the page of the playground would request."""

from typing import Any
from urllib.parse import parse_qsl, urlsplit


def request_on(page: Any) -> dict[str, str]:
    """The parameters of the request to which the button leads."""
    return dict(parse_qsl(urlsplit(page.context["authorize_url"]).query, strict_parsing=True))
