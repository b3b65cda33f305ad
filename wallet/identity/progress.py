"""What moves an attempt on: the browser's return, the provider's callback, and the sweep, in any order.

Each of them ends in `refresh`, which asks the provider for the result. So a message that is lost, late or
doubled changes nothing but the time. No provider is called inside a transaction.
"""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urljoin

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.urls import reverse

from infra.sealing import SealError, seal, unseal
from wallet.identity import notices, state_machine
from wallet.identity.state_machine import MOVES, WAITING, ForbiddenMoveError, move_to, settle
from wallet.models import IdentityVerification
from wallet.providers import registry
from wallet.providers.contract import (
    Check,
    Message,
    MessageRefusedError,
    Provider,
    ProviderError,
    Received,
    Started,
)
from wallet.providers.findings import Failed, NotHere

log = structlog.get_logger(__name__)
State = IdentityVerification.State

LEASE = timedelta(seconds=30)  # a provider has answered by then, or its client has given up


class OtherBrowserError(MessageRefusedError):
    """A browser came back that did not begin the check; the check has ended."""


def begin(verification: IdentityVerification, *, now: datetime) -> str:
    """The person begins, or begins again; gives the address where the check is done.

    Raises `ProviderError` (nothing moved) or `ForbiddenMoveError`.
    """
    if State.STARTED not in MOVES[State(verification.state)]:
        raise ForbiddenMoveError(verification.state, State.STARTED)
    started = _provider_of(verification).start(check_of(verification), now=now)
    move_to(verification, State.STARTED, actor="holder", now=now, **_columns(verification, started))
    return started.address


def go_on(verification: IdentityVerification, *, now: datetime) -> str:
    """The address where a check that has begun is done: the provider may make a new one each time.

    Raises `ProviderError`, or `ForbiddenMoveError` when the attempt is not begun or has moved on.
    """
    if verification.state != State.STARTED:
        raise ForbiddenMoveError(verification.state, State.STARTED)
    started = _provider_of(verification).start(check_of(verification), now=now)
    with transaction.atomic():
        seen = verification.sealed_memory
        state_machine.lock(verification)
        if verification.state != State.STARTED or verification.sealed_memory != seen:
            raise ForbiddenMoveError(verification.state, State.STARTED)
        for name, value in _columns(verification, started).items():
            setattr(verification, name, value)
        verification.save(update_fields=["provider_reference", "sealed_memory"])
    return started.address


def refresh(verification: IdentityVerification, *, now: datetime, away: bool = False) -> None:
    """Ask the provider for the result of an attempt that waits for one, and settle it.

    Only one process asks at a time; the others leave it to that one. away: the person's browser does not wait
    for the answer, so they get an e-mail about the outcome.
    """
    if verification.state not in WAITING:
        return
    provider = registry.by_name(verification.provider)
    if provider is None:
        gone = Failed if verification.state == State.PROCESSING else NotHere
        settle(verification, gone("provider_changed"), now=now)
        return
    lease = _take_lease(verification, now=now)
    if lease is None:
        verification.refresh_from_db()
        return
    try:
        finding = provider.result(check_of(verification), now=now)
    except ProviderError as error:
        log.warning("identity_result_not_given", verification=str(verification.id), why=str(error))
        return
    except Exception:  # a provider with a mistake must not stop people or the sweep
        log.exception("identity_result_not_given", verification=str(verification.id))
        return
    finally:
        lease.update(asking_until=None)
    with transaction.atomic():
        state_machine.lock(verification)
        waited = verification.state in WAITING
        settle(verification, finding, now=now)
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

    received = provider.receive(message, find, now=now)
    concerned = [read.get(reference) or _waiting(name, reference) for reference in received.references]
    for verification in filter(None, concerned):
        if message.from_browser and not _in_its_browser(verification, browser):
            settle(verification, NotHere("other_browser"), now=now)
            raise OtherBrowserError("The check was begun in another browser.", status=403)
    if received.memory is not None and concerned and concerned[0] is not None:
        remember(concerned[0], received.memory)
    for verification in filter(None, concerned):
        refresh(verification, now=now, away=not message.from_browser)
    return received


def check_of(verification: IdentityVerification) -> Check:
    """What the provider may know of this attempt."""
    messages = reverse("wallet_identity_messages", args=[verification.provider])
    return Check(
        id=verification.id,
        errand_id=verification.errand_id,
        email=verification.wallet.email,
        reference=verification.provider_reference,
        memory=_memory(verification),
        submissions=verification.submissions,
        submitted=verification.state == State.PROCESSING,
        began_at=verification.changed_at,
        return_url=urljoin(settings.BASE_URL, reverse("wallet_identity_return", args=[verification.id])),
        messages_url=urljoin(settings.BASE_URL, messages),
    )


def _provider_of(verification: IdentityVerification) -> Provider:
    provider = registry.by_name(verification.provider)
    if provider is None:
        raise ProviderError("The provider of this attempt is not configured any more.")
    return provider


def _columns(verification: IdentityVerification, started: Started) -> dict[str, Any]:
    return {
        "provider_reference": started.reference,
        "sealed_memory": _sealed(verification, started.memory) if started.memory else None,
    }


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
    errand = verification.errand
    return errand is not None and browser is not None and errand.browser == browser


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
        memory: dict[str, Any] = json.loads(
            unseal(verification.sealed_memory, context=_context(verification))
        )
    except SealError:  # sealed under a key that is gone: the provider has to begin anew
        log.exception("identity_memory_does_not_open", verification=str(verification.id))
        return {}
    return memory


def _sealed(verification: IdentityVerification, memory: Mapping[str, Any]) -> bytes:
    return seal(json.dumps(memory).encode(), context=_context(verification))


def _context(verification: IdentityVerification) -> str:
    return f"wallet_identityverification.sealed_memory:{verification.id}"
