"""Sign-in by a six-digit code sent by e-mail (NIST SP 800-63B-4 §3.1.3 in spirit: one code, once, few tries).

Nothing here depends on whether a wallet exists: the code, the mail, the limits and the pages are the same,
and the wallet is made when somebody has proven to read the address. Passkeys will be a room beside this one.
"""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from django.db import transaction
from django.db.models import F, Q
from django.utils.crypto import constant_time_compare, salted_hmac

from wallet import letters
from wallet.limits import Limit
from wallet.models import Errand, LoginCode, Wallet

log = structlog.get_logger(__name__)

CODE_LIFETIME = timedelta(minutes=10)
TRIES = 5
RESEND_AFTER = timedelta(seconds=60)

# Per e-mail address: 5 tries for each code make at most 100 guesses a day at one in a million.
CODES_PER_EMAIL = Limit("codes-per-email", most=5, window=timedelta(minutes=15))
CODES_PER_EMAIL_AND_DAY = Limit("codes-per-email-and-day", most=20, window=timedelta(days=1))
# Per client address: many people may share one.
CODES_PER_CLIENT = Limit("codes-per-client", most=30, window=timedelta(minutes=15))
ERRANDS_PER_CLIENT = Limit("errands-per-client", most=30, window=timedelta(minutes=15))
TRIES_PER_CLIENT = Limit("tries-per-client", most=60, window=timedelta(minutes=15))


class TooSoonError(Exception):
    """A code was sent a moment ago; another may be asked for at `retry_at`."""

    def __init__(self, retry_at: datetime) -> None:
        super().__init__("a code was sent a moment ago")
        self.retry_at = retry_at


class NotSentError(Exception):
    """The letter could not be handed over; asking again at once is fine."""


class NoCodeError(Exception):
    """There is no code to enter: none was sent, it has lapsed, was used, or has no tries left."""


@dataclass
class WrongCodeError(Exception):
    """The code is wrong; `tries_left` more may be made."""

    tries_left: int


class WalletSuspendedError(Exception):
    """The address is proven, but its wallet is suspended."""


def send_code(errand: Errand, *, client: str, now: datetime) -> None:
    """Send a new code to the errand's address; an earlier one stops working.

    client: the network address limits count by. Raises `TooSoonError`, `limits.LimitReachedError` or
    `NotSentError`.
    """
    _claim_sending(errand, now=now)
    try:
        CODES_PER_CLIENT.take(client, now=now)
        CODES_PER_EMAIL.take(errand.email, now=now)
        CODES_PER_EMAIL_AND_DAY.take(errand.email, now=now)
        code = _new_code(errand, now=now)
        letters.send_code(errand, code, lifetime=CODE_LIFETIME)
    except Exception as error:
        _release_sending(errand)
        if isinstance(error, OSError):  # SMTP and network errors are all OSErrors
            log.exception("letter not sent", errand=str(errand.id))
            raise NotSentError from error
        raise
    log.info("code sent", errand=str(errand.id))


def redeem(errand: Errand, code: str, *, client: str, now: datetime) -> Wallet:
    """The wallet of the errand's address, made now if it is new, for the right code.

    A try is paid for before the code is compared, and a code is used up by one conditional update, so
    neither tries nor uses multiply when requests race. Raises `NoCodeError`, `WrongCodeError`,
    `WalletSuspendedError`, `limits.LimitReachedError`.
    """
    TRIES_PER_CLIENT.take(client, now=now)
    usable = LoginCode.objects.filter(errand=errand, used_at=None, expires_at__gt=now)
    if usable.filter(tries_left__gt=0).update(tries_left=F("tries_left") - 1) != 1:
        raise NoCodeError
    sent = usable.first()
    if sent is None:
        raise NoCodeError
    if not constant_time_compare(sent.digest, _digest(errand, code)):
        raise WrongCodeError(sent.tries_left)
    with transaction.atomic():
        if usable.filter(id=sent.id).update(used_at=now) != 1:
            raise NoCodeError
        wallet, new = Wallet.objects.get_or_create(email=errand.email, defaults={"created_at": now})
    if wallet.state != Wallet.State.ACTIVE:
        raise WalletSuspendedError
    log.info("signed in", wallet=str(wallet.id), new=new)
    return wallet


def code_pending(errand: Errand, *, now: datetime) -> bool:
    """Whether a code is on its way or there to be entered."""
    codes = LoginCode.objects.filter(errand=errand, used_at=None, expires_at__gt=now, tries_left__gt=0)
    return codes.exists()


def _claim_sending(errand: Errand, *, now: datetime) -> None:
    """At most one letter a minute for an errand, whoever clicks how often."""
    rested = Q(code_sent_at=None) | Q(code_sent_at__lte=now - RESEND_AFTER)
    if Errand.objects.filter(rested, id=errand.id).update(code_sent_at=now) != 1:
        errand.refresh_from_db(fields=["code_sent_at"])
        raise TooSoonError((errand.code_sent_at or now) + RESEND_AFTER)


def _release_sending(errand: Errand) -> None:
    Errand.objects.filter(id=errand.id).update(code_sent_at=None)


def _new_code(errand: Errand, *, now: datetime) -> str:
    code = f"{secrets.randbelow(1_000_000):06}"
    LoginCode.objects.update_or_create(
        errand=errand,
        defaults={
            "digest": _digest(errand, code),
            "tries_left": TRIES,
            "sent_at": now,
            "expires_at": now + CODE_LIFETIME,
            "used_at": None,
        },
    )
    return code


def _digest(errand: Errand, code: str) -> str:
    """Keyed, because six digits are soon tried out against a plain hash; and good for one errand only."""
    return salted_hmac("wallet.sign_in.code", f"{errand.id}:{code}", algorithm="sha256").hexdigest()
