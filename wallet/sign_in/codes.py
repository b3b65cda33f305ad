"""Sign-in by an e-mailed six-digit code that works once, for a few tries (compare NIST SP 800-63B-4 §3.1.3).

The codes, e-mails, limits and pages are the same whether or not a wallet exists. The wallet is created after
the first sign-in with its address. The number of codes, and when a link is sent instead, is decided in
`allowances`.
"""

import secrets
import uuid
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.translation import gettext as _t
from django.utils.translation import ngettext

from infra.limits import take
from infra.mail import outbox
from infra.mail.outbox import SendingState
from wallet.emails import holder_emails
from wallet.models import LoginCode, RedirectTask, Wallet
from wallet.sign_in import known_browsers, links, reserved_addresses
from wallet.sign_in.allowances import CODE_LIFETIME, TRIES, TRIES_PER_CLIENT, take_code

log = structlog.get_logger(__name__)

RESEND_AFTER = timedelta(seconds=60)


class TooSoonError(Exception):
    """An e-mail was sent a moment ago; another one can be requested at `retry_at`."""

    def __init__(self, retry_at: datetime) -> None:
        super().__init__("an e-mail was sent a moment ago")
        self.retry_at = retry_at


class NoCodeError(Exception):
    """No code can be entered: none was sent, or it has expired, was used, or has no tries left."""


@dataclass
class WrongCodeError(Exception):
    """The code is wrong; `tries_left` is the number of further tries."""

    tries_left: int


class WalletSuspendedError(Exception):
    """The code or link is right, but the wallet is suspended."""


def send_code(redirect_task: RedirectTask, *, client: str | None, now: datetime, link: bool = False) -> None:
    """Send a new code to the task's address, or a link if no code is left; an earlier code stops working.

    client: the network address that limits count by. link: the holder requests a link, because codes from
    this client address are refused at the moment. If it raises `TooSoonError` or `limits.LimitReachedError`,
    the allowances except that of the client address are given back. The e-mail is sent afterwards, see
    `sending_state`; it counts even if the mail server refuses it.
    """
    _claim_sending(redirect_task, now=now)
    try:
        _send(redirect_task, client=client, now=now, link=link)
    except BaseException:
        RedirectTask.objects.filter(id=redirect_task.id).update(code_sent_at=None)
        raise


def redeem(redirect_task: RedirectTask, code: str, *, client: str | None, now: datetime) -> Wallet:
    """Compare the code, and return the wallet of the redirect task's address, created now if it is new.

    A try is counted before it is said whether the code is right, and the code is used up by a conditional
    update, so that concurrent requests have no additional tries or uses. Raises `NoCodeError`,
    `WrongCodeError`, `WalletSuspendedError`, `reserved_addresses.AddressReservedError` or
    `limits.LimitReachedError`.
    """
    usable = LoginCode.objects.filter(redirect_task=redirect_task, used_at=None, expires_at__gt=now)
    sent = usable.first()
    if sent is None:
        raise NoCodeError
    the_same = usable.filter(id=sent.id, digest=sent.digest)
    is_right = constant_time_compare(sent.digest, _digest(redirect_task, code))
    count_try(the_same, is_right, client=None if sent.own_allowance else client, now=now)
    with transaction.atomic():
        if the_same.update(used_at=now) != 1:
            raise NoCodeError
        wallet = _wallet_of(redirect_task, now=now)
    return _signed_in(wallet, redirect_task, now=now)


def count_try(rows: QuerySet[Any], is_right: bool, *, client: str | None, now: datetime) -> None:
    """Count a try of the code in this row, and raise `WrongCodeError` unless it is right.

    Raises `NoCodeError` if no try was left, whatever was entered. client: the network address for which a
    wrong code counts, if it does; then raises `limits.LimitReachedError`, too.
    """
    with ExitStack() as taken:
        if client is not None:
            take(TRIES_PER_CLIENT, client, now=now, taken=taken)
        if rows.filter(tries_left__gt=0).update(tries_left=F("tries_left") - 1) != 1:
            raise NoCodeError
        if not is_right:
            taken.pop_all()
            raise WrongCodeError(rows.values_list("tries_left", flat=True).first() or 0)


def redeem_link(redirect_task: RedirectTask, secret: str, *, now: datetime) -> Wallet:
    """Use the link, and return the wallet of the redirect task's address; see `links.redirect_task_for`.

    Raises `links.LinkGoneError`, `WalletSuspendedError` or
    `reserved_addresses.AddressReservedError`.
    """
    with transaction.atomic():
        links.use(secret, now=now)
        wallet = _wallet_of(redirect_task, now=now)
    return _signed_in(wallet, redirect_task, now=now)


def code_pending(redirect_task: RedirectTask, *, now: datetime) -> bool:
    """Whether a code was sent, or is being sent, that can be entered."""
    codes = LoginCode.objects.filter(
        redirect_task=redirect_task, used_at=None, expires_at__gt=now, tries_left__gt=0
    )
    return codes.exists()


def link_pending(redirect_task: RedirectTask, *, now: datetime) -> bool:
    """Whether this redirect task waits for a link in place of a code."""
    return redirect_task.link_until is not None and redirect_task.link_until > now


def sending_state(redirect_task: RedirectTask, *, now: datetime) -> SendingState:
    """The state of the e-mail that this redirect task waits for."""
    if link_pending(redirect_task, now=now):
        link = links.newest(redirect_task.email, now=now)
        return outbox.state_of(link.outgoing if link else None, now=now)
    return outbox.state_of(_outgoing(redirect_task), now=now)


def may_send_at(redirect_task: RedirectTask) -> datetime | None:
    """When another e-mail can be requested; None if none was sent yet."""
    return redirect_task.code_sent_at + RESEND_AFTER if redirect_task.code_sent_at else None


def _claim_sending(redirect_task: RedirectTask, *, now: datetime) -> None:
    """Allow at most one e-mail per minute for a redirect task, also for concurrent requests."""
    rested = Q(code_sent_at=None) | Q(code_sent_at__lte=now - RESEND_AFTER)
    if RedirectTask.objects.filter(rested, id=redirect_task.id).update(code_sent_at=now) != 1:
        redirect_task.refresh_from_db(fields=["code_sent_at"])
        raise TooSoonError((redirect_task.code_sent_at or now) + RESEND_AFTER)


def _send(redirect_task: RedirectTask, *, client: str | None, now: datetime, link: bool) -> None:
    email, browser = redirect_task.email, redirect_task.browser
    is_known_browser = known_browsers.is_known(browser, email, now=now)
    with ExitStack() as taken:  # given back unless an e-mail was sent
        if link or not take_code(
            email, browser=browser, client=client, is_known_browser=is_known_browser, now=now, taken=taken
        ):
            _send_link(redirect_task, client=None if is_known_browser else client, now=now)
        else:
            _send_code(redirect_task, own_allowance=is_known_browser, now=now, taken=taken)


def _send_code(redirect_task: RedirectTask, *, own_allowance: bool, now: datetime, taken: ExitStack) -> None:
    with transaction.atomic():
        if (
            redirect_task.code_sent_at is not None
        ):  # its code stops working, so nobody needs that e-mail any more
            outbox.drop(_outgoing(redirect_task), now=now)
        code = f"{secrets.randbelow(1_000_000):06}"
        outgoing = holder_emails.send_code(redirect_task, code, lifetime=CODE_LIFETIME)
        _remember(redirect_task, code, own_allowance=own_allowance, outgoing=outgoing, now=now)
    taken.pop_all()
    if redirect_task.link_until is not None:
        _wait_for_link(redirect_task, None)
    log.info("sign_in_code_sent", redirect_task=str(redirect_task.id))


def _send_link(redirect_task: RedirectTask, *, client: str | None, now: datetime) -> None:
    until = links.send(redirect_task.email, client=client, now=now)
    LoginCode.objects.filter(redirect_task=redirect_task).delete()
    _wait_for_link(redirect_task, until)
    log.info("sign_in_link_awaited", redirect_task=str(redirect_task.id))


def _wait_for_link(redirect_task: RedirectTask, until: datetime | None) -> None:
    redirect_task.link_until = until
    redirect_task.save(update_fields=["link_until"])


def _wallet_of(redirect_task: RedirectTask, *, now: datetime) -> Wallet:
    wallet, new = Wallet.objects.get_or_create(email=redirect_task.email, defaults={"created_at": now})
    if new:
        reserved_addresses.check(redirect_task.email, now=now)
    return wallet


def _signed_in(wallet: Wallet, redirect_task: RedirectTask, *, now: datetime) -> Wallet:
    """Make the redirect task's browser known, and return the wallet. Raises `WalletSuspendedError`."""
    if not wallet.can_sign_in:
        raise WalletSuspendedError
    known_browsers.remember(redirect_task.browser, redirect_task.email, now=now)
    log.info("holder_signed_in", wallet=str(wallet.id), new=wallet.created_at == now)
    return wallet


def _outgoing(redirect_task: RedirectTask) -> uuid.UUID | None:
    return LoginCode.objects.filter(redirect_task=redirect_task).values_list("outgoing", flat=True).first()


def _remember(
    redirect_task: RedirectTask, code: str, *, own_allowance: bool, outgoing: uuid.UUID, now: datetime
) -> None:
    LoginCode.objects.update_or_create(
        redirect_task=redirect_task,
        defaults={
            "digest": _digest(redirect_task, code),
            "tries_left": TRIES,
            "own_allowance": own_allowance,
            "sent_at": now,
            "expires_at": now + CODE_LIFETIME,
            "used_at": None,
            "outgoing": outgoing,
        },
    )


def _digest(redirect_task: RedirectTask, code: str) -> str:
    """Keyed, because a plain hash of six digits is easily reversed; different for each redirect task.

    Where the address of the redirect task can change, a code is good for the one to which it was sent only.
    """
    bound = (
        f"{redirect_task.id}:{code}:{redirect_task.email}"
        if redirect_task.asks_address
        else f"{redirect_task.id}:{code}"
    )
    return salted_hmac("wallet.sign_in.code", bound, algorithm="sha256").hexdigest()


def wrong_code(tries_left: int) -> ValidationError:
    """The error of the field: how many tries are left, or that the code no longer works."""
    if not tries_left:
        return ValidationError(_t("That code no longer works. Send a new one."), code="used_up")
    text = ngettext(
        "That is not the code. You can try once more.",
        "That is not the code. You can try %(count)d more times.",
        tries_left,
    )
    return ValidationError(text, params={"count": tries_left}, code="wrong")
