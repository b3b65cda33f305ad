"""Posting an answer to a relying party as a form, and reading its response (OpenID4VP 1.0 §8.2, §8.3).

Only status 200 means that the relying party accepted the answer. The browser follows the `redirect_uri` of
the response only if the relying party could register that address.
"""

import re
from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timedelta
from urllib.parse import quote, urlencode

from django.conf import settings

from infra import strict_json
from infra.limits import Limit, LimitReachedError
from infra.outbound import retry_after
from infra.outbound.calls import NotReachedError, Outbound, UnusableAnswerError
from infra.outbound.lanes import lane
from infra.strict_json import StrictJsonError
from presentation.models import RelyingParty
from presentation.relying_parties.metadata import redirect_uris
from presentation.relying_parties.metadata.redirect_uris import RedirectUriError
from presentation.requests.client import ReturnAddress, registered_uris
from presentation.requests.encryption import Recipient

CONTENT_TYPE = "application/x-www-form-urlencoded"
LONGEST_ONWARD = 2048
LONGEST_WAIT = timedelta(minutes=2)  # that it may ask for: what is posted is not kept for much longer
GONE = 410
# Anybody can send a browser here with a request that is wrong; each makes one call. Per client address.
REPORTS = Limit("reported-errors", most=60, window=timedelta(minutes=15))
_URI = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+")  # RFC 3986 §2: no space, no control character

outbound = Outbound(loopback=settings.LOOPBACK_CALLS)


class NotTakenError(UnusableAnswerError):
    """It answered with another status than 200: `gone` for good, or it asks to wait first."""

    def __init__(self, status: int, wait: timedelta) -> None:
        super().__init__(f"It answered with status {status}.")
        self.gone, self.wait = status == GONE, wait


def form(answer: Mapping[str, str], state: str | None, recipient: Recipient | None) -> bytes:
    """The body to post. Only a token is encrypted: whoever cannot decrypt still learns of an error (§8.3).

    Inside, `vp_token` is an object where it is one; `iss` says nothing there, the key was for us alone.
    """
    fields = dict(answer) | ({} if state is None else {"state": state})
    if recipient and "vp_token" in fields:
        members: dict[str, object] = {name: value for name, value in fields.items() if name != "iss"}
        if fields["vp_token"].startswith("{"):
            members["vp_token"] = strict_json.loads(fields["vp_token"])
        fields = {"response": recipient.encrypt(members)}
    return urlencode(fields, quote_via=quote, safe="").encode()


def post(party: RelyingParty, response_uri: str, body: bytes, *, now: datetime) -> str | None:
    """Post a form there; where the browser is to go next, if the relying party says so.

    Raises OutboundError: NotTakenError for every status but 200.
    """
    with lane(party.pk):
        answer = outbound.post(
            response_uri, body, content_type=CONTENT_TYPE, headers={"Accept": "application/json"}
        )
    if answer.status != 200:
        wait = retry_after.asked_to_wait(answer.status, answer.retry_after, now=now, most=LONGEST_WAIT)
        raise NotTakenError(answer.status, wait)
    schemes = {uri.partition(":")[0] for uri in registered_uris(party)}
    return onward(answer.content_type, answer.body, lambda address: _may_be_followed(address, schemes))


def report(
    party: RelyingParty, address: ReturnAddress, answer: dict[str, str], *, client: str, now: datetime
) -> str | None:
    """Post what is wrong with a request that was not even begun, once; gives and raises as `post` does.

    client: the network address that the limit counts by.
    """
    try:
        REPORTS.take(client, now=now)
    except LimitReachedError:
        raise NotReachedError("Too many wrong requests came from one network address.") from None
    return post(party, address.uri, form(answer, address.state, None), now=now)


def onward(content_type: str, body: bytes, is_registrable: Callable[[str], bool]) -> str | None:
    """The `redirect_uri` of the relying party's answer; None when there is none that may be followed.

    is_registrable: whether such an address, without its fragment, may be one of this relying party's.
    """
    if content_type != "application/json":
        return None
    try:
        said = strict_json.loads(body.decode())
    except (StrictJsonError, UnicodeDecodeError):
        return None
    uri = said.get("redirect_uri") if isinstance(said, dict) else None
    if not isinstance(uri, str) or len(uri) > LONGEST_ONWARD or not _URI.fullmatch(uri):
        return None
    address, _, fragment = uri.partition("#")
    return uri if "#" not in fragment and is_registrable(address) else None


def _may_be_followed(address: str, schemes: Collection[str]) -> bool:
    """https, or a scheme it has registered: an app's own, or http to the same machine."""
    if address.partition(":")[0] not in {"https", *schemes}:
        return False
    try:
        redirect_uris.validate(address, allow_localhost=settings.LOCALHOST_REDIRECT_URIS)
    except RedirectUriError:
        return False
    return True
