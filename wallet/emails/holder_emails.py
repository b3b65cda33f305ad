"""E-mails to holders, as plain text and HTML. Each function puts one into the outbox and gives its number.


An e-mail that a person requests is in the language of the page; a notice is in the language of the wallet.
"""

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.timezone import localtime
from django.utils.translation import get_language, override
from django.utils.translation import gettext as _t

from infra import localised, zones
from infra.mail import outbox
from infra.mail.queue import EmailContent
from wallet.emails.texts import LINKS, NOTICES
from wallet.models import RedirectTask, Wallet


def send_code(redirect_task: RedirectTask, code: str, *, lifetime: timedelta) -> uuid.UUID:
    """Send the sign-in code. It is not in the subject, which a locked phone may display."""
    facts = {"code": code, "on_behalf_of": redirect_task.on_behalf_of}
    return _send(redirect_task.email, _t("Your sign-in code"), "code", facts, good_for=lifetime)


def send_link(email: str, address: str, *, lifetime: timedelta) -> uuid.UUID:
    """Send the sign-in link. It names no requester, because several browsers may wait for the same link."""
    return _send(email, _t("Your sign-in link"), "link", {"address": address}, good_for=lifetime)


def send_notice(
    email: str,
    notice: str,
    *,
    wallet: Wallet | None = None,
    link: str = "",
    waited_for: timedelta | None = None,
    **facts: str | date,
) -> uuid.UUID:
    """What happened to a wallet; `notice` is a key of `texts.NOTICES`. Reasons are not in it.

    email: that of the wallet, or one that it had or does not have yet. wallet: in its language and its time
    zone, because an operator, a sweep or another person may be the cause; without it, in the language of the
    page. Days and times in `facts` are written so, too. link: where the notice leads, if `texts.LINKS` has
    words for that. waited_for: it takes the place of a code that is good for so long.
    """
    with as_read_by(wallet):
        subject, text = worded(notice, **facts)
        shown = {"text": text, "link": link, "link_text": str(LINKS.get(notice, "")) % facts}
        return _send(email, subject, "notice", shown, purpose=notice, good_for=waited_for)


@contextmanager
def as_read_by(wallet: Wallet | None) -> Iterator[None]:
    """A context in the language that the holder last used, or as before if it is not known; and in the time
    zone of the browser in which they were last signed in, or in UTC.
    """
    seen = wallet.sessions.exclude(time_zone="").order_by("-last_seen_at").first() if wallet else None
    zone = zones.named(seen.time_zone) if seen else None
    with override((wallet.language if wallet else "") or get_language()), timezone.override(zone):
        yield


def worded(notice: str, **facts: str | date) -> tuple[str, str]:
    """The subject and the text of a notice, with days and times, in the language of the page."""
    written = {name: _written(fact) for name, fact in facts.items()}
    subject, text = (str(template) % written for template in NOTICES[notice])
    return subject, text


def _written(fact: str | date) -> str:
    if isinstance(fact, datetime):
        return localised.zoned_moment(localtime(fact))
    return localised.day(fact) if isinstance(fact, date) else fact


def send_shared(
    wallet: Wallet, *, receipt: str, requester: str, at: datetime, **shared: str | Sequence[str]
) -> uuid.UUID:
    """What the holder has shared, for those who switched these e-mails on.

    receipt: its number. shared: the `domain` of the requester, the names of the `claims` and the titles of
    the `transactions`, but never values, amounts or accounts.
    """
    name = " ".join(requester.split())  # a subject is one line
    subject = _t("You shared your details with %(name)s") % {"name": name}
    address = f"{settings.BASE_URL}{reverse('consent_receipt', args=[receipt])}"
    facts = {**shared, "requester": requester, "at": _written(at), "address": address}
    return _send(wallet.email, subject, "shared", facts)


def send_address_code(email: str, code: str, *, lifetime: timedelta) -> uuid.UUID:
    """Send the code that proves the new address of a wallet."""
    subject, facts = _t("Your code to confirm this address"), {"code": code, "new_address": True}
    return _send(email, subject, "code", facts, purpose="address_code", good_for=lifetime)


def _send(
    recipient: str,
    subject: str,
    name: str,
    facts: dict[str, Any],
    *,
    purpose: str = "",
    good_for: timedelta | None = None,
) -> uuid.UUID:
    """good_for: somebody waits for the e-mail, and it is of no use later."""
    facts |= {
        "subject": subject,
        "operator": settings.OPERATOR,
        "host": urlsplit(settings.BASE_URL).netloc,
        "base_url": settings.BASE_URL,
        "minutes": int(good_for.total_seconds() // 60) if good_for else None,
    }
    text, html = (render_to_string(f"wallet/emails/{name}.{form}", facts) for form in ("txt", "html"))
    until = timezone.now() + good_for if good_for else None
    email = EmailContent(to=recipient, subject=subject, text=text, html=html)
    return outbox.put(email, purpose=purpose or name, urgent=good_for is not None, expires_at=until)
