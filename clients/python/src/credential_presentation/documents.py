"""The published documents of the service: fetched with limits, and cached as `Cache-Control` allows."""

import time
import urllib.request
from collections.abc import Callable
from email.message import Message
from http.client import HTTPException
from typing import Any

from credential_presentation.errors import Rejected, Unavailable
from credential_presentation.jose import read_json

TIMEOUT = 5  # seconds
LONGEST = 2**23  # bytes of a document
LONGEST_KEPT = 3600  # seconds
AT_MOST_EVERY = 30  # seconds between fetches for an unknown key ID, because attackers can invent these

Fetch = Callable[[str], tuple[str, float]]


class _AsItIs(urllib.request.HTTPErrorProcessor):
    """Returns every response, so that no redirect is followed."""

    def http_response(self, request: Any, response: Any) -> Any:
        return response

    https_response = http_response


_opener = urllib.request.build_opener(_AsItIs)


def send(address: str, body: bytes | None = None, **headers: str) -> tuple[int, str, Message]:
    """Status, text and headers of the response. Raises `Unavailable` if there is none in time."""
    until, received = time.monotonic() + TIMEOUT, b""
    try:
        request = urllib.request.Request(address, body, headers)  # noqa: S310 - the address is configured
        with _opener.open(request, timeout=TIMEOUT) as response:
            while chunk := response.read1(65_536):
                received += chunk
                if len(received) > LONGEST or time.monotonic() > until:
                    raise OSError
        return response.status, received.decode(), response.headers
    except (OSError, ValueError, HTTPException) as error:
        reason = type(getattr(error, "reason", error)).__name__  # such as ConnectionRefusedError
        raise Unavailable(f"{address} cannot be read ({reason})") from error


def fetch(address: str) -> tuple[str, float]:
    """A document, and for how many seconds it may be kept (RFC 9111 §5.2.2.1)."""
    status, text, headers = send(address)
    if status != 200:
        raise Unavailable(f"{address} answered with status {status}")
    control = str(headers.get("Cache-Control", ""))  # it is no text if it has other characters than ASCII
    parts = dict(part.strip().partition("=")[::2] for part in control.split(","))
    return text, float(parts["max-age"]) if parts.get("max-age", "").isdecimal() else 60


def parsed(address: str, text: str, status: int = 200) -> dict[str, Any]:
    """The JSON object that an address answered with. Raises `Unavailable` if it is overloaded or fails."""
    if status == 429 or status >= 500:
        raise Unavailable(f"{address} answered with status {status}: {text[:300]!r}")
    try:
        return read_json(text, dict)
    except Rejected:
        raise Unavailable(f"{address} did not answer with a JSON object") from None


class Documents:
    """A cache of published documents. Threads may share it."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        self._kept: dict[str, tuple[str, float, float]] = {}

    def text(self, address: str, anew: bool = False) -> str:
        """The document; `anew` fetches it again, but at most every 30 seconds."""
        text, fresh_until, anew_from = self._kept.get(address, ("", 0.0, 0.0))
        now = time.monotonic()
        if now < (anew_from if anew else fresh_until):
            return text
        text, max_age = self._fetch(address)
        if len(self._kept) >= 100:
            self._kept.clear()
        self._kept[address] = (text, now + min(max_age, LONGEST_KEPT), now + AT_MOST_EVERY)
        return text
