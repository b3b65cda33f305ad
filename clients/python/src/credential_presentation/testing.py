"""For tests of your application: the sandbox's holder answers a request in place of a person."""

import json
import time
from urllib.parse import parse_qsl, urlsplit

from credential_presentation.documents import parsed
from credential_presentation.errors import Denied, Unavailable
from credential_presentation.transport import Request, Transport


def holder(url: str, **choices: object) -> str:
    """The address to which the browser would be redirected.

    Raises `Denied` where a person would stay on a page, as with a request that was answered before: its
    `code` is `no_redirect`, and its `description` has the words of the page. The `code` `invalid_request`
    means that the call itself is wrong, such as an unknown persona.
    `url` comes from `Wallet.request`. `choices` are the other members that the sandbox knows, such as
    `persona="under-18"`, `decision="decline"` and `optional=["nationalities"]`.
    """
    address = f"{url.partition('/verifiable-credentials/')[0]}/sandbox/holder"
    body = json.dumps({"authorize_url": url, **choices}).encode()
    call, request = Transport(), Request(address, body, {"Content-Type": "application/json"})
    for _ in range(100):
        response = call(request)
        if response.status != 503:  # 503: other calls for this person are being answered
            break
        time.sleep(0.2)
    if response.status == 429 or response.status >= 500:
        raise Unavailable(f"{address} answered with status {response.status}: {response.text[:300]!r}")
    answer = parsed(address, response.text)
    if target := answer.get("redirect_to"):
        return str(target)
    page = ": ".join(map(str, answer.get("page", {}).values())).replace("’", "'")  # status, heading and text
    raise Denied(answer.get("error", "no_redirect"), answer.get("error_description", page))


def fields_of(address: str) -> dict[str, str]:
    """The fields that the page at your callback would post: those in the fragment of its address."""
    return dict(parse_qsl(urlsplit(address).fragment))
