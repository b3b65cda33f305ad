"""Passkeys as the second factor of operators, verified with the code that holders use (`wallet.passkeys`)."""

from datetime import datetime
from functools import partial

from django.contrib.auth.models import AbstractUser
from django.db import transaction
from django.http import HttpRequest, HttpResponse

from infra import base64url
from infra.audit.recording import record
from infra.models import OperatorPasskey, SecondFactor
from infra.sealing import sha256_hex
from wallet.passkeys import assertion, options, reading, registration
from wallet.passkeys.assertion import Purpose
from wallet.passkeys.errors import PasskeyError
from wallet.passkeys.problem_page import POSTED
from wallet.passkeys.reading import PostedAssertion
from wallet.passkeys.views.sign_in import challenge

APP = "app"  # in place of the ID of a passkey to remove


def options_for(request: HttpRequest, factor: SecondFactor, *, adding: bool) -> HttpResponse:
    """What the browser asks an authenticator: a new passkey, or a signature by one of the operator's."""
    passkeys, account = factor.passkeys.all(), (_handle(factor), factor.operator.get_username())
    purpose, make_options = Purpose.OPERATOR_PROVES, partial(options.to_sign, passkeys=passkeys)
    if adding:
        purpose, make_options = Purpose.OPERATOR_ADDS, partial(options.to_make, *account, passkeys=passkeys)
    return challenge(request, make_options, purpose, bound_to=_session(request))


def signature(request: HttpRequest, *, now: datetime) -> PostedAssertion:
    """The posted signature; raises PasskeyError.

    Uses up its challenge, so call it outside the transaction that a refused signature rolls back.
    """
    read = reading.read_assertion(request.POST[POSTED])
    assertion.use_challenge(read.challenge, Purpose.OPERATOR_PROVES, bound_to=_session(request), now=now)
    return read


def prove(operator: AbstractUser, read: PostedAssertion, *, now: datetime) -> SecondFactor:
    """The second factor that this signature by a passkey of the operator proves; raises PasskeyError.

    The row of the passkey stays locked until the transaction ends, so that a reset at the same time also ends
    the session that this signature opens.
    """
    passkeys = OperatorPasskey.objects.select_related("factor").filter(factor=operator.pk)
    passkey = passkeys.filter(credential_id=base64url.encode(read.credential_id)).first()
    if passkey is None or read.user_handle not in (None, _handle(passkey.factor)):
        raise PasskeyError("unknown")
    assertion.check(read, passkey, now=now)
    return passkey.factor


def add(request: HttpRequest, factor: SecondFactor, *, now: datetime) -> None:
    """Adds the passkey that the browser of this session has made; raises PasskeyError."""
    read = reading.read_key(request.POST[POSTED])
    assertion.use_challenge(read.challenge, Purpose.OPERATOR_ADDS, bound_to=_session(request), now=now)
    verified, agent = registration.verified_key(read), request.headers.get("User-Agent", "")[:500]
    with transaction.atomic():
        mine = _locked(factor).passkeys
        record(request, "passkey_added", registration.insert(mine, read, verified, user_agent=agent, now=now))


def remove(request: HttpRequest, factor: SecondFactor, *, now: datetime) -> None:
    """Removes the passkey whose ID was posted, or the app.

    Raises PasskeyError, ValidationError or SecondFactor.DoesNotExist, also if neither the app nor a passkey
    would stay. The app also stays while no recovery code is left.
    """
    which = request.POST.get("remove", "")
    with transaction.atomic():
        factor = _locked(factor)
        if which == APP:
            SecondFactor.objects.filter(pk=factor.pk).update(sealed_secret=b"")
            enough = factor.passkeys.exists() and factor.recovery_codes.exists()
        else:
            gone = factor.passkeys.filter(pk=which).delete()[0]
            enough = bool(gone and (factor.sealed_secret or factor.passkeys.exists()))
        if not enough:
            raise PasskeyError("last")
        what = "authenticator_app_removed" if which == APP else "passkey_removed"
        record(request, what, factor if which == APP else f"infra.operatorpasskey:{which}")


def _locked(factor: SecondFactor) -> SecondFactor:
    """The row as it is now. Of concurrent removals one sees that it would remove the last way to sign in.

    Raises SecondFactor.DoesNotExist after a reset.
    """
    return SecondFactor.objects.select_for_update().get(pk=factor.pk, enrolment=factor.enrolment)


def _session(request: HttpRequest) -> str:
    """What challenges are bound to. The key of the session changes when it proves the second factor."""
    return sha256_hex(request.session.session_key or "")


def _handle(factor: SecondFactor) -> bytes:
    """What authenticators store of the account: a random value, and nothing of the person."""
    return factor.enrolment.encode()
