"""Asks providers for results: after the browser's return, a callback, or by the sweep, in any order.

Each of them ends in `refresh`, which asks the provider for the result. So a message that is lost, late or
doubled changes nothing but the time. No provider is called inside a transaction.
"""

import json
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urljoin

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.urls import reverse

from infra.sealing import SealError, seal_column, unseal_column
from wallet.identity import notices, state_machine
from wallet.identity.settling import settle
from wallet.identity.state_machine import MOVES, WAITING, ForbiddenMoveError, move_to
from wallet.models import IdentityVerification
from wallet.providers import registry
from wallet.providers.contract import (
    Check,
    Find,
    Message,
    MessageRefusedError,
    Provider,
    ProviderError,
    Received,
    Started,
)
from wallet.providers.findings import Failed, Finding, NotHere

log = structlog.get_logger(__name__)
State = IdentityVerification.State

LEASE = timedelta(seconds=30)  # a provider has answered by then, or its client has given up


Start = Callable[..., Started]  # as `Provider.start`


class OtherBrowserError(MessageRefusedError):
    """The browser that came back is not the one that began the check. The check has ended."""


def begin(verification: IdentityVerification, *, now: datetime) -> str:
    """Begins the attempt, or another submission; returns the address where the check is done.

    Raises `ProviderError` (nothing moved) or `ForbiddenMoveError`.
    """
    if State.STARTED not in MOVES[State(verification.state)]:
        raise ForbiddenMoveError(verification.state, State.STARTED)
    address, columns = _start(verification, now=now)
    move_to(verification, State.STARTED, actor="holder", now=now, **columns)
    return address


def go_on(verification: IdentityVerification, *, now: datetime, start: Start | None = None) -> str:
    """The address where a check that has begun is done. The provider may make a new one each time.

    start: used instead of the provider's `start`, for a provider with pages of its own on this host.
    Raises `ProviderError`, or `ForbiddenMoveError` when the attempt is not begun or has moved on.
    """
    if verification.state != State.STARTED:
        raise ForbiddenMoveError(verification.state, State.STARTED)
    address, columns = _start(verification, start, now=now)
    with transaction.atomic():
        seen = verification.sealed_memory
        state_machine.lock(verification)
        if verification.state != State.STARTED or verification.sealed_memory != seen:
            raise ForbiddenMoveError(verification.state, State.STARTED)
        for name, value in columns.items():
            setattr(verification, name, value)
        verification.save(update_fields=list(columns))
    return address


def came_back(verification: IdentityVerification, *, now: datetime) -> None:
    """Records that the browser is back, so that its page says that the result is awaited."""
    rows = IdentityVerification.objects.filter(id=verification.id, state=State.STARTED)
    rows.filter(returned_at=None).update(returned_at=now)


def refresh(verification: IdentityVerification, *, now: datetime, away: bool = False) -> bool:
    """Ask the provider for the result of an attempt that waits for one, and settle it.

    Only one process asks at a time; the others leave it to that one. Gives whether the provider answered.
    away: the person's browser does not wait for the answer, so they get an e-mail about the outcome.
    """
    if verification.state not in WAITING:
        return False
    provider = registry.by_name(verification.provider)
    if provider is None:
        gone = Failed if verification.state == State.PROCESSING else NotHere
        settle(verification, gone("provider_changed"), now=now)
        return True
    lease = _take_lease(verification, now=now)
    if lease is None:
        verification.refresh_from_db()
        return False
    try:
        finding = _ask(provider, verification, now=now)
        if finding is not None:
            _settle(verification, finding, away=away, now=now)
    finally:
        lease.update(asking_until=None)
    return finding is not None


def _settle(verification: IdentityVerification, finding: Finding, *, away: bool, now: datetime) -> None:
    begun_at = verification.changed_at
    with transaction.atomic():
        state_machine.lock(verification)
        waited = verification.state in WAITING
        settle(verification, finding, begun_at=begun_at, now=now)
        if away and waited:
            notices.owe(verification)


def receive(name: str, message: Message, *, browser: str | None = None, now: datetime) -> Received:
    """Act on what a provider's machine sent, or on what a browser brought back from the provider.

    browser: the digest of the browser's cookie. Raises `MessageRefusedError` (nothing changed) or
    `OtherBrowserError`.
    """
    provider = registry.by_name(name)
    if provider is None:
        raise MessageRefusedError("There is no such provider.", status=404)
    read: dict[str, IdentityVerification] = {}

    def find(reference: str) -> Check | None:
        verification = _waiting(name, reference)
        if verification is None:
            return None
        read[reference] = verification
        return check_of(verification)

    received = _read(provider, message, find, now=now)
    concerned = [read.get(reference) or _waiting(name, reference) for reference in received.references]
    for verification in filter(None, concerned):
        if message.from_browser and not _in_its_browser(verification, browser):
            settle(verification, NotHere("other_browser"), now=now)
            raise OtherBrowserError("The check was begun in another browser.", status=403)
    if received.memory is not None and concerned and concerned[0] is not None:
        remember(concerned[0], received.memory)
    for verification in filter(None, concerned):
        if message.from_browser:
            came_back(verification, now=now)
        refresh(verification, now=now, away=not message.from_browser)
    return received


def check_of(verification: IdentityVerification) -> Check:
    """What the provider may know of this attempt."""
    messages = reverse("wallet_identity_messages", args=[verification.provider])
    return Check(
        id=verification.id,
        redirect_task_id=verification.redirect_task_id,
        email=verification.wallet.email,
        reference=verification.provider_reference,
        memory=_memory(verification),
        submissions=verification.submissions,
        submitted=verification.state == State.PROCESSING,
        began_at=verification.changed_at,
        return_url=urljoin(settings.BASE_URL, reverse("wallet_identity_return", args=[verification.id])),
        messages_url=urljoin(settings.BASE_URL, messages),
    )


def _start(
    verification: IdentityVerification, start: Start | None = None, *, now: datetime
) -> tuple[str, dict[str, Any]]:
    """Where the browser goes, and what the row of the attempt remembers. Raises `ProviderError`."""
    provider, check = registry.by_name(verification.provider), check_of(verification)
    if provider is None:
        raise ProviderError("The provider of this attempt is not configured any more.")
    try:
        started = (start or provider.start)(check, now=now)
        _check_is_own(verification, started.reference)
        sealed: bytes | memoryview | None = _sealed(verification, started.memory) if started.memory else None
        if started.memory == check.memory:  # sealed anew it would look changed to a message that arrives now
            sealed = verification.sealed_memory
    except ProviderError:
        raise
    except Exception as error:  # a provider with a mistake must not show a person an error page
        log.exception("identity_check_not_begun", verification=str(verification.id))
        raise ProviderError("The provider’s module has a mistake.") from error
    columns = {"provider_reference": started.reference, "sealed_memory": sealed, "returned_at": None}
    return started.address, columns | {"kept_by_provider": provider.keeps_data}


def _check_is_own(verification: IdentityVerification, reference: str) -> None:
    """Raises `ProviderError` if another wallet’s attempt has this reference: results would be mixed."""
    rows = IdentityVerification.objects.filter(provider=verification.provider, provider_reference=reference)
    if reference and rows.exclude(wallet_id=verification.wallet_id).exists():
        raise ProviderError("The provider gave the reference of another check.")


def _ask(provider: Provider, verification: IdentityVerification, *, now: datetime) -> Finding | None:
    """The provider's finding; None if it did not answer, or its answer was invalid."""
    try:
        finding = provider.result(check_of(verification), now=now)
        if not isinstance(finding, Finding):
            raise ProviderError("The provider’s module gave something else than a finding.")
        _check_is_own(verification, verification.provider_reference)  # also of those that began at once
    except ProviderError as error:
        log.warning("identity_result_not_given", verification=str(verification.id), why=str(error))
    except Exception:  # a provider with a mistake must not stop people or the sweep
        log.exception("identity_result_not_given", verification=str(verification.id))
    else:
        return finding
    return None


def _read(provider: Provider, message: Message, find: Find, *, now: datetime) -> Received:
    """The provider's reading of the message. Raises `MessageRefusedError`."""
    try:
        return provider.receive(message, find, now=now)
    except MessageRefusedError:
        raise
    except Exception as error:  # whatever strangers send must not end in an error page
        log.exception("identity_message_not_read", provider=provider.name)
        raise MessageRefusedError("The provider’s module could not read it.") from error


def _take_lease(
    verification: IdentityVerification, *, now: datetime
) -> QuerySet[IdentityVerification] | None:
    """The row while the lease is this process's own; None if another process asks at the moment."""
    until = now + LEASE
    rows = IdentityVerification.objects.filter(id=verification.id)
    free = Q(asking_until__isnull=True) | Q(asking_until__lte=now)
    if rows.filter(free, state__in=WAITING).update(asking_until=until, asked_at=now) != 1:
        return None
    verification.refresh_from_db()
    return rows.filter(asking_until=until)


def _waiting(name: str, reference: str) -> IdentityVerification | None:
    rows = IdentityVerification.objects.filter(provider=name, provider_reference=reference)
    return rows.filter(state__in=WAITING).order_by("-created_at").first() if reference else None


def _in_its_browser(verification: IdentityVerification, browser: str | None) -> bool:
    redirect_task = verification.redirect_task
    return redirect_task is not None and browser is not None and redirect_task.browser == browser


def remember(verification: IdentityVerification, memory: Mapping[str, Any]) -> None:
    """Replaces what the provider kept, unless it has changed since the message was read."""
    rows = IdentityVerification.objects.filter(id=verification.id, state__in=WAITING)
    rows = rows.filter(sealed_memory=verification.sealed_memory)
    sealed = _sealed(verification, memory)
    if rows.update(sealed_memory=sealed) != 1:
        raise MessageRefusedError("Another message was faster.", status=409)
    verification.sealed_memory = sealed


def _memory(verification: IdentityVerification) -> Mapping[str, Any]:
    if verification.sealed_memory is None:
        return {}
    try:
        memory: dict[str, Any] = json.loads(unseal_column(verification, "sealed_memory"))
    except SealError:  # sealed under a key that is gone: the provider has to begin anew
        log.exception("identity_memory_does_not_open", verification=str(verification.id))
        return {}
    return memory


def _sealed(verification: IdentityVerification, memory: Mapping[str, Any]) -> bytes:
    return seal_column(verification, "sealed_memory", json.dumps(memory).encode())
