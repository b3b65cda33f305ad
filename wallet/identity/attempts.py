"""Finds the attempt with which a holder continues, and limits how often they may try."""

from contextlib import suppress
from datetime import datetime, timedelta

from django.db import IntegrityError

from infra.limits import Limit
from wallet.identity import enrollment
from wallet.identity.state_machine import (
    IDLE_STATES,
    OPEN,
    SUBMISSIONS,
    SUBMISSIONS_CAP,
    ForbiddenMoveError,
    cancel,
    create,
)
from wallet.models import IdentityVerification, RedirectTask, Wallet

State = IdentityVerification.State

COOL_DOWN = timedelta(hours=6)  # after DECLINED
# Beginning and stopping again costs rows that are kept, and perhaps a provider's fee.
ATTEMPTS = Limit.from_settings("identity-attempts")  # per wallet
# Each start and each continuation calls the provider, which other people need too.
STARTS = Limit.from_settings("identity-starts")  # per wallet


class CoolDownError(Exception):
    """The last attempt was declined a short while ago: see `cooling_down_until`."""


def latest(wallet: Wallet) -> IdentityVerification | None:
    """The wallet's newest attempt."""
    return IdentityVerification.objects.filter(wallet=wallet).order_by("-created_at").first()


def attempt(
    wallet: Wallet, redirect_task: RedirectTask, provider: str, *, now: datetime
) -> IdentityVerification:
    """The attempt with this provider: the open one, one that ended in ERROR, or else a new one.

    An attempt with another provider is cancelled, if nothing was submitted; otherwise it is given back, and
    cannot begin. Raises `CoolDownError` after a decline, `enrollment.HeldError` when an operator holds the
    wallet, and `limits.LimitReachedError` after too many new ones.
    """
    newest = latest(wallet)
    if newest is not None and newest.provider != provider and newest.state in IDLE_STATES:
        with suppress(ForbiddenMoveError):
            cancel(newest, now=now)
    if newest is not None:
        failed = newest.state == State.ERROR and newest.provider == provider
        if failed or newest.state in OPEN:
            return for_redirect_task(newest, redirect_task)
    if cooling_down_until(newest, now=now):
        raise CoolDownError
    enrollment.check_not_held(wallet)
    ATTEMPTS.take(str(wallet.id), now=now)
    try:
        return create(wallet, redirect_task, provider=provider, now=now)
    except IntegrityError:  # another tab was first: one open attempt per wallet, by constraint
        return for_redirect_task(
            IdentityVerification.objects.get(wallet=wallet, state__in=OPEN), redirect_task
        )


def cooling_down_until(verification: IdentityVerification | None, *, now: datetime) -> datetime | None:
    """The end of the waiting time after a declined attempt; None if there is none, or it is over."""
    if verification is None or verification.state != State.DECLINED:
        return None
    until = verification.changed_at + COOL_DOWN
    return until if until > now else None


def tries_left(verification: IdentityVerification, *, now: datetime) -> int:
    """The number of submissions that are left now."""
    in_window = SUBMISSIONS.left(str(verification.wallet_id), now=now)
    return max(0, min(in_window, SUBMISSIONS_CAP - verification.submissions))


def for_redirect_task(
    verification: IdentityVerification, redirect_task: RedirectTask
) -> IdentityVerification:
    """Attaches the attempt to this redirect task, to which the browser returns from the provider."""
    if verification.redirect_task_id != redirect_task.id:
        verification.redirect_task = redirect_task
        if redirect_task.on_behalf_of:  # looking at the wallet meanwhile changes nothing of it
            verification.came_from, verification.begin_again = (
                redirect_task.on_behalf_of,
                redirect_task.begin_again,
            )
        verification.save(update_fields=["redirect_task", "came_from", "begin_again"])
    return verification
