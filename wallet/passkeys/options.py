"""The options for `navigator.credentials` in browsers, as JSON (WebAuthn Level 3 §5.1.9, §5.1.10).

The RP ID is the host of BASE_URL, so passkeys stop working when that host changes.
"""

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.translation import gettext as _
from webauthn import base64url_to_bytes, generate_authentication_options, generate_registration_options
from webauthn.helpers import options_to_json_dict, structs

from infra.models import PasskeyRow
from wallet.models import Wallet

TIMEOUT = 180_000  # milliseconds that a browser waits for the person


def rp_id() -> str:
    """The host of this service, to which passkeys are bound (§5.1.2)."""
    return urlsplit(settings.BASE_URL).hostname or ""


def user_handle(wallet: Wallet) -> bytes:
    """What an authenticator stores of the account: the random ID of the wallet, and nothing of the person."""
    return wallet.id.bytes


def to_add(wallet: Wallet, challenge: bytes) -> dict[str, Any]:
    """For a new passkey of the wallet."""
    return to_make(user_handle(wallet), shortened(wallet.email), challenge, wallet.passkeys.all())


def to_make(handle: bytes, name: str, challenge: bytes, passkeys: Iterable[PasskeyRow]) -> dict[str, Any]:
    """For a new passkey, discoverable and with user verification.

    handle, name: what authenticators store of the account. passkeys: those that it has already.
    """
    return options_to_json_dict(
        generate_registration_options(
            rp_id=rp_id(),
            rp_name=_("Identity wallet"),
            user_id=handle,
            user_name=name,
            user_display_name=name,
            challenge=challenge,
            timeout=TIMEOUT,
            authenticator_selection=structs.AuthenticatorSelectionCriteria(
                resident_key=structs.ResidentKeyRequirement.REQUIRED,
                user_verification=structs.UserVerificationRequirement.REQUIRED,
            ),
            exclude_credentials=_described(passkeys),
        )
    )


def to_sign(challenge: bytes, passkeys: Iterable[PasskeyRow] = ()) -> dict[str, Any]:
    """For a signature by one of `passkeys`; by any passkey of this service if there are none.

    Before sign-in it is any, because a list would reveal who has a wallet.
    """
    return options_to_json_dict(
        generate_authentication_options(
            rp_id=rp_id(),
            challenge=challenge,
            timeout=TIMEOUT,
            user_verification=structs.UserVerificationRequirement.REQUIRED,
            allow_credentials=_described(passkeys),
        )
    )


def shortened(email: str) -> str:
    """Enough of the address to tell two wallets apart, such as `al…@example.org`.

    The name leaves this service: authenticators show it, and password managers copy it.
    """
    name, _at, host = email.rpartition("@")
    return f"{name[: min(2, len(name) - 1)]}…@{host}"


def _described(passkeys: Iterable[PasskeyRow]) -> list[structs.PublicKeyCredentialDescriptor]:
    return [
        structs.PublicKeyCredentialDescriptor(
            id=base64url_to_bytes(passkey.credential_id),
            transports=[structs.AuthenticatorTransport(name) for name in passkey.transports],
        )
        for passkey in passkeys
    ]
