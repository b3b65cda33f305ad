"""Errands: redirect tasks, which store why a browser was sent to the wallet and where it returns to.

The paths come from the calling app, never from a query string. An errand is valid only in the browser for
which it was opened.
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
    """This browser has no such errand; `errand` is set if it is this browser's but has expired."""

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
    renewal: bool = False,
    fresh_since: datetime | None = None,
    lifetime: timedelta = LIFETIME,
) -> Errand:
    """Store an errand.

    browser: digest of the cookie of the browser that is sent. email: whose wallet it is about, lower case.
    return_to, leave_to: paths on this host, when done and when given up. on_behalf_of: who asked, for
    people to read. asks_for: names of claims (`claims.NAMES`). assurance: those of which the identity needs
    one; any will do if it is empty. renewal: only an identity verified after this will do. fresh_since: an
    earlier sign-in does not do for this errand. Raises `EmailAddressError` for an address that is not as
    `email_addresses.parse` gives it.
    """
    for place in (return_to, leave_to):
        if not place.startswith("/") or not url_has_allowed_host_and_scheme(place, allowed_hosts=None):
            raise ValueError("return_to and leave_to must be paths on this host")
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
        renewal=renewal,
        fresh_since=fresh_since,
        created_at=now,
        expires_at=now + lifetime,
    )


def recall(errand_id: uuid.UUID, browser: str | None, now: datetime) -> Errand:
    """The open errand of this browser. Raises `ErrandGoneError`, without details for other browsers."""
    errand = Errand.objects.filter(id=errand_id).first()
    if errand is None or browser is None or errand.browser != browser:
        raise ErrandGoneError
    # An earlier release may have stored an address that is no longer accepted, because e-mail goes elsewhere.
    if errand.expires_at <= now or not email_addresses.is_accepted(errand.email):
        raise ErrandGoneError(errand)
    return errand


def extend(errand_id: uuid.UUID, *, until: datetime) -> None:
    """Lets the errand end at that time, if it would end earlier."""
    Errand.objects.filter(id=errand_id, expires_at__lt=until).update(expires_at=until)


def good_for(errand: Errand, session: HolderSession) -> bool:
    """Whether this session meets the errand's needs: it is for the same wallet and recent enough."""
    recent = errand.fresh_since is None or session.signed_in_at >= errand.fresh_since
    return recent and session.wallet.email == errand.email


def demanded(errand: Errand) -> tuple[Assurance, ...]:
    """The assurances of which the identity needs one; empty if any identity will do."""
    return tuple(Assurance(framework, level) for framework, level in errand.assurance)
