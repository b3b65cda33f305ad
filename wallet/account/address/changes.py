"""Changing the e-mail address of a wallet: a code proves the new mailbox, and the old one can undo it.

The present mailbox, or a passkey, is proved by signing in again just before (`fresh`). Everything that
belongs to the wallet stays. Browsers known by the old address stay known for that address alone
(`known_browsers`): they gain nothing by that, because they still need a code.
"""

import secrets
from contextlib import ExitStack
from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils.crypto import constant_time_compare, salted_hmac

from infra.limits import Limit, LimitReachedError, RollingLimit, take
from infra.sealing import sha256_hex
from wallet.emails import holder_emails
from wallet.models import EmailChange, FormerAddress, HolderSession, LoginCode, LoginLink, Recovery, Wallet
from wallet.sign_in import known_browsers, reserved_addresses
from wallet.sign_in.allowances import CODE_LIFETIME, CODES_PER_CLIENT, TRIES, take_code
from wallet.sign_in.codes import RESEND_AFTER, NoCodeError, WalletSuspendedError, count_try
from wallet.sign_in.reserved_addresses import AddressReservedError

log = structlog.get_logger(__name__)

UNDO_FOR = timedelta(days=7)
CODES_PER_WALLET = Limit.from_settings("address-codes-per-wallet")
NEXT_CODE = RollingLimit("next-address-code", most=1, window=RESEND_AFTER)
CHANGES_PER_WALLET = Limit.from_settings("address-changes-per-wallet")


class AddressTakenError(Exception):
    """Another wallet has the address, or had it until a few days ago."""


def ask(wallet: Wallet, email: str, *, browser: str, client: str | None, now: datetime) -> None:
    """Send a code to the new address. What was asked before ends.

    If the address belongs to another wallet, an e-mail there says so, and no code works. Nothing else
    differs, so nobody learns from this who has a wallet. Raises `LimitReachedError`, and then gives the
    allowances back except that of the client address.
    """
    with ExitStack() as taken:
        take(NEXT_CODE, str(wallet.id), now=now, taken=taken)
        take(CODES_PER_WALLET, str(wallet.id), now=now, taken=taken)
        if not take_code(email, browser=browser, client=client, is_known_browser=False, now=now, taken=taken):
            raise LimitReachedError(CODES_PER_CLIENT.renewed_at(now))
        with transaction.atomic():
            code = f"{secrets.randbelow(1_000_000):06}"
            if _is_free(email, wallet, now=now):
                outgoing = holder_emails.send_address_code(email, code, lifetime=CODE_LIFETIME)
            else:
                outgoing = holder_emails.send_notice(email, "address_taken", waited_for=CODE_LIFETIME)
            facts = {
                "browser": browser,
                "email": email,
                "digest": _digest(wallet, email, code),
                "tries_left": TRIES,
                "expires_at": now + CODE_LIFETIME,
                "used_at": None,
                "outgoing": outgoing,
            }
            EmailChange.objects.update_or_create(wallet=wallet, defaults=facts)
        taken.pop_all()
    log.info("address_code_sent", wallet=str(wallet.id))


def pending(wallet: Wallet, *, browser: str | None, now: datetime) -> EmailChange | None:
    """The change that this browser has asked for and can still confirm."""
    usable = EmailChange.objects.filter(wallet=wallet, used_at=None, expires_at__gt=now, tries_left__gt=0)
    return usable.filter(browser=browser).first() if browser else None


def confirm(wallet: Wallet, code: str, *, browser: str | None, client: str | None, now: datetime) -> None:
    """Change the address if the code is right. Every browser is signed out.

    Raises `NoCodeError`, `WrongCodeError`,
    `AddressTakenError`, `WalletSuspendedError` or `LimitReachedError`.
    """
    change = pending(wallet, browser=browser, now=now)
    if change is None:
        raise NoCodeError
    the_same = EmailChange.objects.filter(id=change.id, digest=change.digest, used_at=None)
    is_right = constant_time_compare(change.digest, _digest(wallet, change.email, code))
    count_try(the_same, is_right, client=client, now=now)
    with transaction.atomic():
        # First the wallet, then its rows: undoing a change locks in the same order.
        locked = Wallet.objects.select_for_update().get(id=wallet.id)
        if the_same.update(used_at=now) != 1:
            raise NoCodeError
        _change(locked, change.email, now=now)
    if browser:
        known_browsers.remember(browser, change.email, now=now)
    log.info("address_changed", wallet=str(wallet.id))


def set_address(wallet: Wallet, email: str, *, now: datetime) -> None:
    """Write the address of a locked wallet; nobody stays signed in, and codes for the old address end.

    Browsers are not known by the old address any more. Raises `AddressTakenError`. Call it in a transaction.
    """
    before, wallet.email = wallet.email, email
    try:
        with transaction.atomic():
            wallet.save(update_fields=["email"])
            reserved_addresses.check(email, but_for=wallet, now=now)
    except (IntegrityError, AddressReservedError) as error:
        wallet.email = before
        raise AddressTakenError from error
    HolderSession.objects.filter(wallet=wallet).delete()
    waiting = Recovery.objects.filter(old=wallet, state=Recovery.State.WAITING)
    waiting.update(state=Recovery.State.STOPPED, decided_by="sweep", reason="address changed", ended_at=now)
    known_browsers.forget_all(before, until=now)
    LoginCode.objects.filter(redirect_task__email=before).delete()
    LoginLink.objects.filter(email=before).delete()


def _change(wallet: Wallet, email: str, *, now: datetime) -> None:
    """Change the address, and e-mail the old one the link that undoes it."""
    if not wallet.can_share:
        raise WalletSuspendedError
    CHANGES_PER_WALLET.take(str(wallet.id), now=now)
    old, until, secret = wallet.email, now + UNDO_FOR, secrets.token_urlsafe(16)
    link = settings.BASE_URL + reverse("wallet_email_change_undo", args=[secret])
    # Before the sessions end, of which one says the time zone.
    holder_emails.send_notice(old, "address_changed", wallet=wallet, link=link, until=until)
    set_address(wallet, email, now=now)
    FormerAddress.objects.create(
        wallet=wallet, email=old, left_at=now, expires_at=until, told_at=now, undo_digest=sha256_hex(secret)
    )


def _is_free(email: str, wallet: Wallet, *, now: datetime) -> bool:
    try:
        reserved_addresses.check(email, but_for=wallet, now=now)
    except AddressReservedError:
        return False
    return not Wallet.objects.filter(email=email).exists()


def _digest(wallet: Wallet, email: str, code: str) -> str:
    """Keyed, because a plain hash of six digits is easily reversed; of one wallet and address."""
    text = f"{wallet.id}:{email}:{code}"
    # The salt is fixed: with another one, the codes that wait would not be right.
    return salted_hmac("wallet.account.email_change", text, algorithm="sha256").hexdigest()
