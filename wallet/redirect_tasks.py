"""Redirect tasks: why a browser was sent to the wallet, and where it returns to.

The paths come from the calling app, never from a query string. A task is valid only in the browser for
which it was opened.
"""

import uuid
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils.http import url_has_allowed_host_and_scheme

from infra import email_addresses
from infra.email_addresses import EmailAddressError
from wallet.credential.evidence import Assurance
from wallet.models import HolderSession, LoginCode, RedirectTask

LIFETIME = timedelta(minutes=30)


class RedirectTaskGoneError(LookupError):
    """This browser has no such task; `redirect_task` is set if it is this browser's but has expired."""

    def __init__(self, redirect_task: RedirectTask | None = None) -> None:
        super().__init__("no such redirect task")
        self.redirect_task = redirect_task


def open_redirect_task(
    *,
    email: str,
    return_to: str,
    leave_to: str,
    now: datetime,
    asks_address: bool = False,
    lifetime: timedelta = LIFETIME,
    on_behalf_of: str = "",
    assurance: Sequence[Assurance] = (),
    details: Iterable[str] = (),
    **facts: Any,
) -> RedirectTask:
    """Store a redirect task.

    email: whose wallet it is about, lower case. return_to, leave_to: paths on this host, when done and when
    given up. asks_address: nobody is expected, and the person says who they are; email may then be empty.
    on_behalf_of: who asked, for people. assurance: those of which the identity needs one; any will do if it
    is empty. details: the groups of details that it needs besides (`credential.details`). facts: `browser`,
    and other columns of `RedirectTask`. Raises `EmailAddressError` for an address that is not as
    `email_addresses.parse` gives it.
    """
    for place in (return_to, leave_to):
        if not place.startswith("/") or not url_has_allowed_host_and_scheme(place, allowed_hosts=None):
            raise ValueError("return_to and leave_to must be paths on this host")
    if not email_addresses.is_accepted(email) and (email or not asks_address):
        raise EmailAddressError
    return RedirectTask.objects.create(
        email=email,
        asks_address=asks_address,
        return_to=return_to,
        leave_to=leave_to,
        created_at=now,
        expires_at=now + lifetime,
        on_behalf_of=" ".join(on_behalf_of.split())[:100],
        assurance=[[minimum.trust_framework, minimum.level] for minimum in assurance],
        details=list(details),
        **facts,
    )


def load(redirect_task_id: uuid.UUID, browser: str | None, now: datetime) -> RedirectTask:
    """The open task of this browser. Raises `RedirectTaskGoneError`, without details for other browsers."""
    redirect_task = RedirectTask.objects.filter(id=redirect_task_id).first()
    if redirect_task is None or browser is None or redirect_task.browser != browser:
        raise RedirectTaskGoneError
    if redirect_task.expires_at <= now:
        raise RedirectTaskGoneError(redirect_task)
    return redirect_task


def extend(redirect_task_id: uuid.UUID, *, until: datetime) -> None:
    """Lets the redirect task end at that time, if it would end earlier."""
    RedirectTask.objects.filter(id=redirect_task_id, expires_at__lt=until).update(expires_at=until)


def demand_sign_in(redirect_task_id: uuid.UUID, *, fresh_since: datetime | None) -> None:
    """Lets only a sign-in at or after that moment do, if the redirect task has let an earlier one do."""
    if fresh_since is not None:
        older = Q(fresh_since=None) | Q(fresh_since__lt=fresh_since)
        RedirectTask.objects.filter(older, id=redirect_task_id).update(fresh_since=fresh_since)


def good_for(redirect_task: RedirectTask, session: HolderSession) -> bool:
    """Whether this session meets the redirect task's needs.

    It is for the same wallet, recent enough, and was begun with a passkey if the task needs one.
    """
    recent = redirect_task.fresh_since is None or session.signed_in_at >= redirect_task.fresh_since
    sure_enough = session.by_passkey or not redirect_task.needs_passkey
    return recent and sure_enough and is_for(redirect_task, session)


def is_for(redirect_task: RedirectTask, session: HolderSession) -> bool:
    """Whether the signed-in holder is the expected one. Without an expected holder, everybody is."""
    return redirect_task.asks_address or session.wallet.email == redirect_task.email


def take_address(redirect_task: RedirectTask, email: str) -> None:
    """Store with which address the person signs in; raises `EmailAddressError`.

    For a task without an expected holder. A code or link for another address stops working, and the next
    e-mail need not wait for the last.
    """
    if not redirect_task.asks_address or not email_addresses.is_accepted(email):
        raise EmailAddressError
    if redirect_task.email == email:
        return
    redirect_task.email, redirect_task.code_sent_at, redirect_task.link_until = email, None, None
    with transaction.atomic():
        LoginCode.objects.filter(redirect_task=redirect_task).delete()
        redirect_task.save(update_fields=["email", "code_sent_at", "link_until"])


def demanded(redirect_task: RedirectTask) -> tuple[Assurance, ...]:
    """The assurances of which the identity needs one; empty if any identity will do."""
    return tuple(Assurance(framework, level) for framework, level in redirect_task.assurance)
