"""Verifies signatures by passkeys (WebAuthn Level 3 §7.2)."""

import secrets
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import structlog
from django.conf import settings
from django.db.models import Q
from webauthn import verify_authentication_response
from webauthn.authentication.verify_authentication_response import VerifiedAuthentication
from webauthn.helpers.structs import AuthenticationCredential, AuthenticatorAssertionResponse

from infra import base64url
from infra.models import PasskeyRow
from infra.sealing import sha256_hex
from wallet.models import HolderSession, Passkey, PasskeyChallenge, Wallet
from wallet.passkeys import options, reading
from wallet.passkeys.errors import INVALID, PasskeyError
from wallet.passkeys.reading import PostedAssertion

CHALLENGE_LIFETIME = timedelta(minutes=5)


class Purpose(StrEnum):
    """What the signature is for; one made for another purpose is refused."""

    ADD = "add"
    SIGN_IN = "sign_in"
    CONFIRM = "confirm"
    OPERATOR_ADDS = "op_add"
    OPERATOR_PROVES = "op_prove"  # the second factor


def make_challenge(purpose: Purpose, *, bound_to: str, subject: str = "", now: datetime) -> bytes:
    """A new challenge.

    bound_to: the digest of the session's cookie, or of the browser's where nobody is signed in. subject: the
    ID of the redirect task or question that it is for.
    """
    challenge = secrets.token_bytes(32)
    PasskeyChallenge.objects.create(
        digest=_digest_of(challenge),
        purpose=purpose,
        bound_to=bound_to,
        subject=subject,
        expires_at=now + CHALLENGE_LIFETIME,
    )
    return challenge


def use_challenge(
    challenge: bytes, purpose: Purpose, *, bound_to: str, subject: str = "", now: datetime
) -> None:
    """Use the challenge up by one conditional delete.

    Raises `PasskeyError` if it was used, has expired, or was made for another purpose, browser or subject.
    """
    good = PasskeyChallenge.objects.filter(
        digest=_digest_of(challenge), purpose=purpose, bound_to=bound_to, subject=subject, expires_at__gt=now
    )
    if good.delete()[0] != 1:
        raise PasskeyError("too_late")


def _digest_of(challenge: bytes) -> str:
    return sha256_hex(base64url.encode(challenge))


log = structlog.get_logger(__name__)


def prove(
    posted: str,
    purpose: Purpose,
    *,
    bound_to: str,
    subject: str = "",
    wallet: Wallet | None = None,
    now: datetime,
) -> Passkey:
    """The passkey, with its wallet, that made this signature; raises `PasskeyError`.

    posted: JSON as `reading.read_assertion` takes it. purpose, bound_to, subject: of the challenge, which is
    used up even if the signature is refused. wallet: the only one whose passkeys will do.
    """
    read = reading.read_assertion(posted)
    use_challenge(read.challenge, purpose, bound_to=bound_to, subject=subject, now=now)
    passkey = _find(read)
    if wallet is not None and passkey.wallet_id != wallet.id:
        raise PasskeyError("other")
    check(read, passkey, now=now)
    return passkey


def check(read: PostedAssertion, passkey: PasskeyRow, *, now: datetime) -> None:
    """Verifies the signature and stores the sign count; raises `PasskeyError`. Use up the challenge first."""
    _count(passkey, _verified(read, passkey), now=now)


def confirm(posted: str, session: HolderSession, *, subject: str, now: datetime) -> None:
    """The signed-in holder proves a factor anew, for the question with this ID; raises `PasskeyError`.

    The session counts as signed in at this moment.
    """
    prove(
        posted,
        Purpose.CONFIRM,
        bound_to=session.digest,
        subject=subject,
        wallet=session.wallet,
        now=now,
    )
    proved: dict[str, Any] = {"signed_in_at": now, "by_passkey": True, "time_told_for": None}
    if HolderSession.objects.filter(digest=session.digest).update(**proved) != 1:
        raise PasskeyError("too_late")  # signed out meanwhile
    for name, value in proved.items():
        setattr(session, name, value)
    log.info("holder_confirmed_with_passkey", wallet=str(session.wallet_id))


def _find(read: PostedAssertion) -> Passkey:
    """The passkey with this ID, if the user handle is that of its wallet (step 6) and that is not closed."""
    passkeys = Passkey.objects.select_related("wallet").filter(wallet__closed_at=None)
    passkey = passkeys.filter(credential_id=base64url.encode(read.credential_id)).first()
    if passkey is None:
        raise PasskeyError("unknown")
    if read.user_handle not in (None, options.user_handle(passkey.wallet)):
        raise PasskeyError("refused")
    return passkey


def _verified(read: PostedAssertion, passkey: PasskeyRow) -> VerifiedAuthentication:
    credential = AuthenticationCredential(
        id=passkey.credential_id,
        raw_id=read.credential_id,
        response=AuthenticatorAssertionResponse(
            client_data_json=read.client_data,
            authenticator_data=read.authenticator_data,
            signature=read.signature,
            user_handle=read.user_handle,
        ),
    )
    try:
        return verify_authentication_response(
            credential=credential,
            expected_challenge=read.challenge,
            expected_rp_id=options.rp_id(),
            expected_origin=settings.BASE_URL,  # no other origin’s pages may use them (§13.4.9)
            credential_public_key=bytes(passkey.public_key),
            credential_current_sign_count=0,  # `_count` compares it, with other requests in view
            require_user_verification=True,
        )
    except INVALID as error:
        log.warning("passkey_refused", passkey=str(passkey.id), why=type(error).__name__)
        raise PasskeyError("refused") from error


def _count(passkey: PasskeyRow, verified: VerifiedAuthentication, *, now: datetime) -> None:
    """Store the sign count, if it went up; authenticators that do not count always send 0 (§6.1.1)."""
    counted = verified.new_sign_count
    up = Q(sign_count__lt=counted) if counted else Q(sign_count=0)
    rows = type(passkey)._default_manager.filter(up, id=passkey.id)
    changed = rows.update(sign_count=counted, backed_up=verified.credential_backed_up, last_used_at=now)
    if changed != 1:
        log.warning("passkey_counted_back", passkey=str(passkey.id), stored=passkey.sign_count, sent=counted)
        raise PasskeyError("copied")
