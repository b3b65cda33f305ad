"""Who can stop the move of a wallet: the old mailbox, its signed-in holder, the new wallet, and operators."""

from datetime import datetime

from django.contrib.auth.models import AbstractUser
from django.db.models import QuerySet

from infra.sealing import sha256_hex
from wallet.emails import holder_emails
from wallet.identity.recoveries import RecoveryOverError, State, latest, stop, waiting_for
from wallet.models import Recovery, StopLink, Wallet


def find(secret: str, *, now: datetime) -> Recovery:
    """The move that this link stops; changes nothing. Raises `RecoveryOverError`."""
    link = _links(secret, State.WAITING, now=now).select_related("recovery__old").first()
    if link is None:
        raise RecoveryOverError
    return link.recovery


def is_stopped(secret: str, *, now: datetime) -> bool:
    """Whether the move that this link stops is stopped already."""
    return _links(secret, State.STOPPED, now=now).exists()


def by_link(secret: str, *, now: datetime) -> None:
    """Stop the move with the link from an e-mail to the old mailbox. Raises `RecoveryOverError`."""
    recovery = find(secret, now=now)
    stop(recovery, by="old mailbox", reason="stopped by the link", now=now)
    _tell(recovery)


def by_holder(wallet: Wallet, *, now: datetime) -> None:
    """Stop the move of or to this wallet as its signed-in holder. Raises `RecoveryOverError`."""
    if away := waiting_for(wallet):
        stop(away, by="holder", reason="stopped in the wallet", now=now)
        _tell(away)
    elif to_it := latest(wallet):
        stop(to_it, by="new wallet", reason="withdrawn", now=now)
    else:
        raise RecoveryOverError


def by_operator(recovery: Recovery, *, operator: AbstractUser, reason: str, now: datetime) -> None:
    """Stop the move with a reason. Raises `RecoveryOverError`."""
    stop(recovery, by=operator.get_username(), reason=reason, now=now)
    _tell(recovery)


def _links(secret: str, state: State, *, now: datetime) -> QuerySet[StopLink]:
    links = StopLink.objects.filter(digest=sha256_hex(secret), expires_at__gt=now)
    return links.filter(recovery__state=state)


def _tell(recovery: Recovery) -> None:
    if recovery.new is not None:
        holder_emails.send_notice(recovery.new.email, "move_stopped", wallet=recovery.new)
