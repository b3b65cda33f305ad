"""The published documents of the service, cached as its headers allow (RFC 9111 §4.2, §5.2.2)."""

import logging
import re
import time
from dataclasses import dataclass
from typing import Any

from credential_presentation.errors import Rejected, Unavailable
from credential_presentation.jose import read_json
from credential_presentation.transport import Fetch, Request, Response

LONGEST_KEPT = 3600  # seconds
UNSAID = 60  # seconds that a document is kept whose headers do not say for how long
AT_MOST_EVERY = 30  # seconds between fetches for an unknown key ID, because attackers can invent these
COOLDOWN = 3  # seconds after a failed fetch, in which callers fail at once and the service is left alone
LONGEST_COOLDOWN = 30  # if the service asks for more time
log = logging.getLogger("credential_presentation")


def call(fetch: Fetch, request: Request) -> Response:
    """The response. Raises `Unavailable` if there is none, or if the service is overloaded or fails."""
    try:
        response = fetch(request)
    except (Unavailable, OSError) as error:
        log.warning("%s is unavailable: %s", request.url, error)
        if isinstance(error, Unavailable):
            raise
        raise Unavailable(f"{request.url} cannot be read ({type(error).__name__})") from error
    if response.status == 429 or response.status >= 500:
        seconds = response.header("retry-after")
        retry_after = float(seconds) if re.fullmatch("[0-9]{1,6}", seconds) else 0
        text = f"{request.url} answered with status {response.status}: {response.text[:300]!r}"
        failed = Unavailable(text, retry_after, response.header("x-request-id"))
        log.warning("%s: status %d, reference %s", request.url, response.status, failed.reference)
        raise failed
    return response


def seconds_fresh(response: Response) -> float:
    """For how many seconds a response may be used again."""
    control = response.header("cache-control").lower()
    directives = dict(part.strip().partition("=")[::2] for part in control.split(","))
    if directives.keys() & {"no-store", "no-cache"}:
        return 0
    max_age, age = directives.get("max-age", "").strip('"'), response.header("age").strip()
    lifetime = int(max_age) if re.fullmatch("[0-9]{1,12}", max_age) else UNSAID
    elapsed = int(age) if re.fullmatch("[0-9]{1,12}", age) else 0
    return max(min(lifetime, LONGEST_KEPT) - elapsed, 0)


def parsed(address: str, text: str) -> dict[str, Any]:
    """The JSON object that an address answered with. Raises `Unavailable`."""
    try:
        return read_json(text, dict)
    except Rejected:
        raise Unavailable(f"{address} did not answer with a JSON object") from None


@dataclass(frozen=True)
class _Kept:
    text: str = ""
    fresh_until: float = 0
    anew_from: float = 0
    failed_until: float = 0


class Documents:
    """A cache of published documents. Threads may share it."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        self._kept: dict[str, _Kept] = {}

    def text(self, address: str, anew: bool = False) -> str:
        """The document; `anew` fetches it again, but at most every 30 seconds: "" if that is not over.

        Raises `Unavailable`, for some seconds after a failed fetch without another.
        """
        kept, now = self._kept.get(address, _Kept()), time.monotonic()
        if now < (kept.anew_from if anew else kept.fresh_until):
            return "" if anew else kept.text
        if now < kept.failed_until:
            raise Unavailable(f"{address} failed just now", kept.failed_until - now)
        try:
            response = call(self._fetch, Request(address))
            if response.status != 200:
                raise Unavailable(f"{address} answered with status {response.status}")
        except Unavailable as error:
            wait = min(max(error.retry_after, COOLDOWN), LONGEST_COOLDOWN)
            self._keep(address, _Kept(kept.text, kept.fresh_until, kept.anew_from, now + wait))
            raise
        fresh = seconds_fresh(response)
        self._keep(address, _Kept(response.text if fresh else "", now + fresh, now + AT_MOST_EVERY))
        return response.text

    def _keep(self, address: str, kept: _Kept) -> None:
        if len(self._kept) >= 100:
            self._kept.clear()
        self._kept[address] = kept
