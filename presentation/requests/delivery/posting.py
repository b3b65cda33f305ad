"""Posting a form to a relying party (OpenID4VP 1.0 §8.2): and what it answers.

Only a 200 means that it was taken. Where its answer sends the browser is followed only to where it may be.
"""

from collections.abc import Collection
from datetime import datetime, timedelta

from django.conf import settings

from infra.limits import Limit, LimitReachedError
from infra.outbound import retry_after
from infra.outbound.calls import NotReachedError, Outbound, UnusableAnswerError
from infra.outbound.lanes import lane
from presentation.models import RelyingParty
from presentation.relying_parties.metadata import redirect_uris
from presentation.relying_parties.metadata.redirect_uris import RedirectUriError
from presentation.requests.client import ReturnAddress, registered_uris
from presentation.requests.delivery import posted_answer
from presentation.requests.delivery.posted_answer import CONTENT_TYPE

LONGEST_WAIT = timedelta(minutes=2)  # that it may ask for: what is posted is not kept for much longer
GONE = 410
# Anybody can send a browser here with a request that is wrong; each makes one call. Per client address.
REPORTS = Limit("reported-errors", most=60, window=timedelta(minutes=15))

outbound = Outbound(loopback=settings.LOOPBACK_CALLS)


class NotTakenError(UnusableAnswerError):
    """It answered, with another status than 200: `gone` for good, or it asks to wait first."""

    def __init__(self, status: int, wait: timedelta) -> None:
        super().__init__(f"It answered with status {status}.")
        self.gone, self.wait = status == GONE, wait


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
    return posted_answer.onward(
        answer.content_type, answer.body, lambda address: _may_be_followed(address, schemes)
    )


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
    return post(party, address.uri, posted_answer.form(answer, address.state, None), now=now)


def _may_be_followed(address: str, schemes: Collection[str]) -> bool:
    """https, or a scheme it has registered: an app's own, or http to the same machine."""
    if address.partition(":")[0] not in {"https", *schemes}:
        return False
    try:
        redirect_uris.validate(address, allow_localhost=settings.LOCALHOST_REDIRECT_URIS)
    except RedirectUriError:
        return False
    return True
