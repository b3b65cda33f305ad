"""Posts an answer to a relying party as a form, and reads its response (OpenID4VP 1.0 §8.2, §8.3).

Only status 200 means that the relying party accepted the answer. To which `redirect_uri` of the response the
browser may go, `redirect_uris.may_be_followed` decides.
"""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from urllib.parse import quote, urlencode

from django.conf import settings

from infra import strict_json
from infra.limits import ClientLimit, LimitReachedError
from infra.outbound import retry_after
from infra.outbound.calls import NotReachedError, Outbound, UnusableAnswerError
from infra.strict_json import StrictJsonError
from infra.waiting import waiting_for
from presentation.encryption import Recipient
from presentation.models import RelyingParty
from presentation.relying_parties.metadata import redirect_uris
from presentation.requests.client import ReturnAddress, parameters_of, registered_uris

CONTENT_TYPE = "application/x-www-form-urlencoded"
LONGEST_WAIT = timedelta(minutes=2)  # longest `Retry-After` that is heeded; answers are kept for 5 minutes
GONE = 410
# Any browser can bring an invalid request, and each causes one call, so limit them per client address.
REPORTS = ClientLimit.from_settings("reported-errors")

outbound = Outbound(loopback=settings.LOOPBACK_CALLS)


class NotTakenError(UnusableAnswerError):
    """The response has another status than 200. gone: status 410. wait: the pause it asks for."""

    def __init__(self, status: int, wait: timedelta) -> None:
        super().__init__(f"It answered with status {status}.")
        self.gone, self.wait = status == GONE, wait


def form(answer: Mapping[str, str], state: str | None, recipient: Recipient | None) -> bytes:
    """The body to post. Only a token is encrypted, so that an error can be read without the key (§8.3).

    In the encrypted answer `vp_token` may be a JSON object, and `iss` is left out.
    """
    fields = parameters_of(answer, state)
    if recipient and "vp_token" in fields:
        members: dict[str, object] = {name: value for name, value in fields.items() if name != "iss"}
        if fields["vp_token"].startswith("{"):
            members["vp_token"] = strict_json.loads(fields["vp_token"])
        fields = {"response": recipient.encrypt(members)}
    return urlencode(fields, quote_via=quote, safe="").encode()


def post(party: RelyingParty, response_uri: str, body: bytes, *, now: datetime) -> str | None:
    """Posts a form; returns the address to which the relying party sends the browser, if any.

    Raises OutboundError; NotTakenError for every status but 200.
    """
    # Read before the call: what the relying party has taken must not fail afterwards.
    registered = registered_uris(party)
    with waiting_for(party.pk):
        answer = outbound.post(
            response_uri, body, content_type=CONTENT_TYPE, headers={"Accept": "application/json"}
        )
    if answer.status != 200:
        wait = retry_after.asked_to_wait(answer.status, answer.retry_after, now=now, most=LONGEST_WAIT)
        raise NotTakenError(answer.status, wait)
    return redirect_uri_in(answer.content_type, answer.body, registered)


def report(
    party: RelyingParty,
    address: ReturnAddress,
    answer: dict[str, str],
    *,
    network_address: str | None,
    now: datetime,
) -> str | None:
    """Posts the error of a request without an interaction, once; returns and raises as `post`.

    network_address: that the limit counts by.
    """
    try:
        REPORTS.take(network_address, now=now)
    except LimitReachedError:
        raise NotReachedError("Too many wrong requests came from one network address.") from None
    return post(party, address.uri, form(answer, address.state, None), now=now)


def redirect_uri_in(content_type: str, body: bytes, registered: Collection[str]) -> str | None:
    """The `redirect_uri` of a relying party's response; None if there is none, or it may not be followed.

    registered: the redirect URIs of the relying party.
    """
    if content_type != "application/json":
        return None
    try:
        response = strict_json.loads(body.decode())
    except (StrictJsonError, UnicodeDecodeError):
        return None
    uri = response.get("redirect_uri") if isinstance(response, dict) else None
    return uri if isinstance(uri, str) and may_be_followed(uri, registered) else None


def may_be_followed(uri: str, registered: Collection[str]) -> bool:
    """`redirect_uris.may_be_followed` with this service's setting for `http://localhost`."""
    return redirect_uris.may_be_followed(uri, registered, allow_localhost=settings.LOCALHOST_REDIRECT_URIS)
