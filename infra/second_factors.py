"""The second factor of operators: codes of an app (TOTP, RFC 6238), each once, and recovery codes.

The codes are those of `cryptography`, which the service has anyway, so this needs no further package.
"""

import re
import secrets
from base64 import b32encode
from datetime import datetime, timedelta
from importlib import import_module

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor import InvalidToken
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import AbstractUser
from django.contrib.sessions.models import Session
from django.db import IntegrityError, transaction

from infra.limits import Limit
from infra.models import RecoveryCode, SecondFactor, SecondFactorReset
from infra.sealing import SealError, seal_column, sha256_hex, unseal_column
from infra.typed_digits import number, six_digits

STEP = 30  # seconds
SECRET = 20  # bytes, RFC 4226 §4
RECOVERY_CODES = 10
RESET_LASTS = timedelta(days=1)  # for which the code of a reset can be used
_RECOVERY_CODE = re.compile("[a-z2-7]{16}")  # base32, RFC 4648 §6
_GROUPS = re.compile("(?<![0-9a-z-])[a-z2-7]{4}(?:-[a-z2-7]{4}){3}(?![0-9a-z-])")
TRIES = (Limit.from_settings("second-factor-tries"), Limit.from_settings("second-factor-tries-per-day"))


class WrongCodeError(Exception):
    """The code is not the present one, was used already, or is no recovery code that is left."""


def of(operator: AbstractUser) -> SecondFactor | None:
    """The operator's second factor, if it was set up."""
    return SecondFactor.objects.filter(pk=operator.pk).first()


def new_secret() -> bytes:
    return secrets.token_bytes(SECRET)


def address(secret: bytes, operator: AbstractUser, issuer: str) -> str:
    """The `otpauth://` address that apps read from the QR code."""
    return _totp(secret).get_provisioning_uri(operator.get_username(), issuer)


def typed(secret: bytes) -> str:
    """The secret in letters, in groups of four, for apps that cannot read the QR code."""
    letters = b32encode(secret).decode()
    return " ".join(letters[start : start + 4] for start in range(0, len(letters), 4))


def needs_reset_code(operator: AbstractUser) -> bool:
    """Whether the operator's factor was reset, so that a new one needs the code that was shown then."""
    return SecondFactorReset.objects.filter(pk=operator.pk).exists()


def set_up(
    operator: AbstractUser, secret: bytes, code: str, *, now: datetime, reset_code: str = ""
) -> tuple[SecondFactor, list[str]]:
    """The new factor and its recovery codes, once the app has shown the right code.

    reset_code: what `reset` gave, if the factor was reset. Raises WrongCodeError, also if another request has
    set up a factor, which would have to be reset first.
    """
    step = _step(secret, code, now)
    codes = [_recovery_code() for _ in range(RECOVERY_CODES)]
    factor = SecondFactor(pk=operator.pk, enrolment=secrets.token_hex(16), used_step=step, set_up_at=now)
    factor.sealed_secret = seal_column(factor, "sealed_secret", secret)
    try:
        with transaction.atomic():
            _use_up_reset_code(operator, reset_code, now)
            factor.save(force_insert=True)
            digests = [
                RecoveryCode(digest=_digest(operator, recovery_code), factor=factor)
                for recovery_code in codes
            ]
            RecoveryCode.objects.bulk_create(digests)
    except IntegrityError:
        raise WrongCodeError from None
    return factor, codes


def count_try(operator: AbstractUser, now: datetime) -> None:
    """Counts an attempt with a code; raises LimitReachedError."""
    for limit in TRIES:
        limit.take(str(operator.pk), now=now)


def prove(factor: SecondFactor | None, code: str, *, now: datetime) -> str:
    """Uses up the code of the app, or a recovery code; gives which it was. Raises WrongCodeError."""
    if factor is None:
        raise WrongCodeError
    if recovery_code := _typed_recovery_code(code):
        left = RecoveryCode.objects.filter(digest=_digest(factor.operator, recovery_code), factor=factor)
        if left.delete()[0] != 1:
            raise WrongCodeError
        return "recovery_code_used"
    try:
        step = _step(unseal_column(factor, "sealed_secret"), code, now)
    except SealError:
        raise WrongCodeError from None
    unused = SecondFactor.objects.filter(pk=factor.pk, enrolment=factor.enrolment, used_step__lt=step)
    if unused.update(used_step=step) != 1:
        raise WrongCodeError
    return "second_factor_used"


def reset(operator: AbstractUser, *, now: datetime) -> str:
    """Removes the factor with its passkeys, and ends the sessions.

    Gives the code that setting up a new one needs beside the password, which a thief may have. It is shown
    once and works for a day.
    """
    code = _recovery_code()
    with transaction.atomic():
        for factor in SecondFactor.objects.select_for_update().filter(pk=operator.pk):
            factor.delete()  # with its recovery codes and passkeys
        facts = {"digest": _digest(operator, code), "expires_at": now + RESET_LASTS}
        SecondFactorReset.objects.update_or_create(facts, pk=operator.pk)
        end_sessions(operator)
    return code


def _use_up_reset_code(operator: AbstractUser, code: str, now: datetime) -> None:
    """Raises WrongCodeError if the factor was reset and this is not the code, or no longer."""
    if not needs_reset_code(operator):
        return
    digest = _digest(operator, _typed_recovery_code(code))
    right = SecondFactorReset.objects.filter(pk=operator.pk, digest=digest, expires_at__gt=now)
    if right.delete()[0] != 1:
        raise WrongCodeError


def end_sessions(operator: AbstractUser) -> None:
    """Signs the operator out everywhere. Operators are few, so every session is opened."""
    store = import_module(settings.SESSION_ENGINE).SessionStore()
    for session in Session.objects.all():
        if store.decode(session.session_data).get(SESSION_KEY) == str(operator.pk):
            session.delete()


def _step(secret: bytes, code: str, now: datetime) -> int:
    """The step whose code this is: the present one, or one beside it, for clocks that differ."""
    digits = six_digits(code)
    if digits is None:
        raise WrongCodeError
    present = int(now.timestamp()) // STEP
    for step in (present, present - 1, present + 1):
        try:
            _totp(secret).verify(digits.encode(), step * STEP)
        except InvalidToken:
            continue
        return step
    raise WrongCodeError


def _totp(secret: bytes) -> TOTP:
    return TOTP(secret, 6, SHA1(), STEP)  # noqa: S303 (apps know no other hash; RFC 6238 §1.2)


def _recovery_code() -> str:
    letters = b32encode(secrets.token_bytes(10)).decode().lower()
    return "-".join(letters[start : start + 4] for start in range(0, 16, 4))


def _typed_recovery_code(text: str) -> str:
    """The only recovery code, or code of a reset, that the text contains, without dashes; "" if it has none.

    In a sentence the code has its dashes, because four words of four letters each are none.
    """
    text = number(text).lower()
    whole = text.replace(" ", "").replace("-", "")
    found = {whole} if _RECOVERY_CODE.fullmatch(whole) else set(_GROUPS.findall(text))
    return found.pop().replace("-", "") if len(found) == 1 else ""


def _digest(operator: AbstractUser, code: str) -> str:
    return sha256_hex(f"{operator.pk}:{code.replace('-', '')}")
