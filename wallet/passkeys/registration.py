"""Adds passkeys to wallets (WebAuthn Level 3 §7.1), names and removes them."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy
from webauthn import verify_registration_response
from webauthn.helpers import (
    decode_credential_public_key,
    decoded_public_key_to_cryptography,
    parse_attestation_object,
    structs,
)
from webauthn.registration.verify_registration_response import VerifiedRegistration

from infra import base64url
from wallet.emails import holder_emails
from wallet.models import HolderSession, Passkey, Wallet
from wallet.passkeys import assertion, options, reading
from wallet.passkeys.assertion import Purpose
from wallet.passkeys.errors import INVALID, PasskeyError
from wallet.passkeys.reading import PostedKey
from wallet.sign_in import user_agents

log = structlog.get_logger(__name__)

MOST = 20  # passkeys of one wallet or operator
# No attestation is asked for, so a browser sends none, or that of a key which vouches for itself only.
FORMATS = (structs.AttestationFormat.NONE, structs.AttestationFormat.PACKED)


def add(posted: str, session: HolderSession, *, user_agent: str, now: datetime) -> Passkey:
    """Add the passkey that the browser of this session has made; raises `PasskeyError`.

    posted: JSON as `reading.read_key` takes it. user_agent: for its first name.
    """
    read = reading.read_key(posted)
    assertion.use_challenge(read.challenge, Purpose.ADD, bound_to=session.digest, now=now)
    passkey = _insert(read, verified_key(read), session, user_agent=user_agent, now=now)
    log.info("passkey_added", passkey=str(passkey.id), wallet=str(session.wallet_id))
    holder_emails.send_notice(passkey.wallet.email, "passkey_added", wallet=passkey.wallet, name=passkey.name)
    return passkey


def remove(passkey: Passkey) -> None:
    """Remove it, and tell the holder by e-mail; does nothing if another request removed it."""
    if Passkey.objects.filter(id=passkey.id).delete()[0] == 1:
        log.info("passkey_removed", passkey=str(passkey.id), wallet=str(passkey.wallet_id))
        holder_emails.send_notice(
            passkey.wallet.email, "passkey_removed", wallet=passkey.wallet, name=passkey.name
        )


def verified_key(read: PostedKey) -> VerifiedRegistration:
    """The new key, of an authenticator that has verified its user; raises `PasskeyError`."""
    credential = structs.RegistrationCredential(
        id=base64url.encode(read.credential_id),
        raw_id=read.credential_id,
        response=structs.AuthenticatorAttestationResponse(
            client_data_json=read.client_data, attestation_object=read.attestation_object
        ),
    )
    try:
        if parse_attestation_object(read.attestation_object).fmt not in FORMATS:
            raise PasskeyError("refused")
        verified = verify_registration_response(
            credential=credential,
            expected_challenge=read.challenge,
            expected_rp_id=options.rp_id(),
            expected_origin=settings.BASE_URL,  # no other origin’s pages may use them (§13.4.9)
            require_user_verification=True,
        )
        key = decode_credential_public_key(verified.credential_public_key)
        decoded_public_key_to_cryptography(key)  # fails now, and not when the holder wants to sign in
    except INVALID as error:
        log.warning("passkey_not_added", why=type(error).__name__)
        raise PasskeyError("refused") from error
    if verified.credential_id != read.credential_id:
        raise PasskeyError("refused")
    return verified


def _insert(
    read: PostedKey, verified: VerifiedRegistration, session: HolderSession, *, user_agent: str, now: datetime
) -> Passkey:
    with transaction.atomic():
        # Two requests must not both be the last, and none counts after its session was ended.
        wallet = Wallet.objects.select_for_update().get(id=session.wallet_id)
        if not HolderSession.objects.filter(digest=session.digest).exists():
            raise PasskeyError("too_late")
        passkey: Passkey = insert(wallet.passkeys, read, verified, user_agent=user_agent, now=now)
        Wallet.objects.filter(id=wallet.id, passkey_offered_at=None).update(passkey_offered_at=now)
    return passkey


def insert(
    passkeys: Any, read: PostedKey, verified: VerifiedRegistration, *, user_agent: str, now: datetime
) -> Any:
    """Adds the passkey to those of its owner, whose row the caller has locked; raises `PasskeyError`.

    passkeys: the related manager of the owner.
    """
    taken = list(passkeys.values_list("name", flat=True))
    if len(taken) >= MOST:
        raise PasskeyError("too_many")
    name = default_name(
        transports=read.transports, attached=read.attached, user_agent=user_agent, taken=taken
    )
    passkey, new = passkeys.model.objects.get_or_create(
        credential_id=base64url.encode(verified.credential_id),
        defaults={
            passkeys.field.name: passkeys.instance,
            "name": name,
            "public_key": verified.credential_public_key,
            "sign_count": verified.sign_count,
            "transports": list(read.transports),
            "backed_up": verified.credential_backed_up,
            "created_at": now,
        },
    )
    if not new:
        raise PasskeyError("known_already")
    return passkey


LONGEST_NAME = 60  # characters

# What a device with one of these systems of `user_agents` is called; others are called as their system.
_DEVICES = {
    "Android": _lazy("Android device"),
    "Windows": _lazy("Windows computer"),
    "macOS": _lazy("Mac"),
    "ChromeOS": _lazy("Chromebook"),
    "Linux": _lazy("Linux computer"),
}


def default_name(
    *, transports: Collection[str], attached: bool, user_agent: str, taken: Collection[str]
) -> str:
    """The kind of the authenticator, with a number if a passkey of the wallet has that name.

    transports, attached: as in `reading.PostedKey`. user_agent: of the browser in which it was added.
    """
    name = _kind_of_device(transports, attached, user_agent)
    number = 1
    while (candidate := name if number == 1 else f"{name} ({number})") in taken:
        number += 1
    return candidate


def _kind_of_device(transports: Collection[str], attached: bool, user_agent: str) -> str:
    if not attached:
        if "hybrid" in transports:
            return _("Phone or tablet")
        if {"usb", "nfc", "ble", "smart-card"}.intersection(transports):
            return _("Security key")
    system = user_agents.parse(user_agent).system
    return str(_DEVICES.get(system, system)) or _("Passkey")
