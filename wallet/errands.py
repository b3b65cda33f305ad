"""Errands: a browser is sent here to do something, and knows from its errand where it goes afterwards.

The places come from whoever sent it, by a call and never from a query string. An errand is good only in
the browser that was sent.
"""

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.utils.http import url_has_allowed_host_and_scheme

from infra import email_addresses
from infra.email_addresses import EmailAddressError
from wallet.evidence import Assurance
from wallet.models import Errand, HolderSession

LIFETIME = timedelta(minutes=30)


class ErrandGoneError(LookupError):
    """There is no such errand for this browser; `errand` is set when it is its own but has expired."""

    def __init__(self, errand: Errand | None = None) -> None:
        super().__init__("no such errand")
        self.errand = errand


def open_errand(
    *,
    browser: str,
    email: str,
    return_to: str,
    leave_to: str,
    now: datetime,
    on_behalf_of: str = "",
    asks_for: Sequence[str] = (),
    assurance: Sequence[Assurance] = (),
    fresh_since: datetime | None = None,
    lifetime: timedelta = LIFETIME,
) -> Errand:
    """Write an errand down.

    browser: digest of the cookie of the browser that is sent. email: whose wallet it is about, lower case.
    return_to, leave_to: paths on this host, when done and when given up. on_behalf_of: who asked, for
    people to read. asks_for: names of claims (`claims.NAMES`). assurance: those of which the identity needs
    one; any will do if it is empty. fresh_since: an earlier sign-in does not do for this errand. Raises
    `EmailAddressError` for an address that is not as `email_addresses.parse` gives it.
    """
    for place in (return_to, leave_to):
        if not place.startswith("/") or not url_has_allowed_host_and_scheme(place, allowed_hosts=None):
            raise ValueError("an errand leads to paths on this host only")
    if not email_addresses.is_accepted(email):
        raise EmailAddressError
    return Errand.objects.create(
        browser=browser,
        email=email,
        on_behalf_of=" ".join(on_behalf_of.split())[:100],
        asks_for=list(asks_for),
        assurance=[[each.trust_framework, each.level] for each in assurance],
        return_to=return_to,
        leave_to=leave_to,
        fresh_since=fresh_since,
        created_at=now,
        expires_at=now + lifetime,
    )


def recall(errand_id: uuid.UUID, browser: str | None, now: datetime) -> Errand:
    """The open errand of this browser; raises `ErrandGoneError`, which tells a stranger nothing."""
    errand = Errand.objects.filter(id=errand_id).first()
    if errand is None or browser is None or errand.browser != browser:
        raise ErrandGoneError
    # An address that is no longer accepted was stored by an earlier release: e-mail to it would go elsewhere.
    if errand.expires_at <= now or not email_addresses.is_accepted(errand.email):
        raise ErrandGoneError(errand)
    return errand


def good_for(errand: Errand, session: HolderSession) -> bool:
    """Whether this sign-in is the one the errand needs: the same wallet, and recent enough."""
    recent = errand.fresh_since is None or session.signed_in_at >= errand.fresh_since
    return recent and session.wallet.email == errand.email


def demanded(errand: Errand) -> tuple[Assurance, ...]:
    """The assurances of which the identity needs one; empty if any identity will do."""
    return tuple(Assurance(framework, level) for framework, level in errand.assurance)
