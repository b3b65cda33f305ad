"""Client authentication at endpoints for machines: a secret in the header or body, or a signed assertion.

RFC 6749 §2.3, RFC 7523 §3, RFC 9700 §2.5. One method per request; every failure is `invalid_client`.
"""

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial

from django.conf import settings
from django.db import connection

from infra.sealing import sha256_hex
from presentation.issuer import PUSH_PATH, TOKEN_PATH
from presentation.machine_errors import InvalidClientError, MachineError, UnavailableError
from presentation.models import ClientSecret, RelyingParty
from presentation.parameters import decoded
from presentation.relying_parties.authentication import assertion, client_secrets, fetched_keys
from presentation.relying_parties.metadata import public_keys
from presentation.relying_parties.metadata.public_keys import ClientKeys

_NOTED_EVERY = timedelta(minutes=1)  # how often `last_used_at` is updated, to save writes
_NO_SECRET = "The client_id or secret is wrong."  # noqa: S105 - a message
_WHY_NO_SECRET = "The client secret is wrong or has ended, or the application is suspended."  # noqa: S105

# One statement, so that of several requests with the same assertion exactly one inserts the row.
_USE = "INSERT INTO presentation_usedassertion (digest, expires_at) VALUES (%s, %s) ON CONFLICT DO NOTHING"


def authenticate(form: Mapping[str, str], authorization: str, *, now: datetime) -> RelyingParty:
    """The active relying party that sent `form` with this `Authorization` header ("" for none).

    The row is read without the logo, which no endpoint for machines needs. Raises InvalidClientError,
    MachineError if several methods are used, or UnavailableError.
    """
    by_header, by_secret = bool(authorization), "client_secret" in form
    by_assertion = bool({"client_assertion", "client_assertion_type"} & form.keys())
    if by_header + by_secret + by_assertion > 1:
        raise MachineError("Use one method of client authentication, not several.")
    if by_header:
        client_id, secret = basic(authorization)
        if form.get("client_id", client_id) != client_id:
            raise MachineError("client_id differs from that in the Authorization header.")
        return _by_secret(client_id, secret, now)
    if by_secret:
        return _by_secret(form.get("client_id", ""), form["client_secret"], now)
    if by_assertion:
        return _by_assertion(form, now)
    raise InvalidClientError("Client authentication is needed.")


def can_authenticate(relying_party: RelyingParty, *, now: datetime) -> bool:
    """Whether it has a secret that works, keys for signatures, or an address of its keys."""
    if relying_party.jwks_uri or (relying_party.jwks and public_keys.read(relying_party.jwks)):
        return True
    return relying_party.client_secrets.filter(ended_at=None, expires_at__gt=now).exists()


def basic(authorization: str) -> tuple[str, str]:
    """Client ID and secret from HTTP Basic, where both are form-encoded (RFC 6749 §2.3.1)."""
    scheme, _, credentials = authorization.partition(" ")
    if scheme.lower() != "basic":
        raise InvalidClientError("Only the scheme Basic authenticates a client in the Authorization header.")
    try:
        name, colon, password = b64decode(credentials.strip(), validate=True).decode("ascii").partition(":")
    except (Base64Error, ValueError):
        raise InvalidClientError("The Authorization header cannot be read.") from None
    client_id, secret = decoded(name), decoded(password)
    if not colon or client_id is None or secret is None:
        raise InvalidClientError("Client ID and secret must be form-encoded before they go into the header.")
    return client_id, secret


def _by_secret(client_id: str, secret: str, now: datetime) -> RelyingParty:
    rows = ClientSecret.objects.filter(
        relying_party__client_id=client_id,
        relying_party__state=RelyingParty.State.ACTIVE,
        ended_at=None,
        expires_at__gt=now,
    )
    rows = rows.select_related("relying_party").defer("relying_party__logo")
    row = client_secrets.matching(secret, list(rows))
    if row is None:
        raise InvalidClientError(_NO_SECRET, for_developer=_WHY_NO_SECRET)
    if row.last_used_at is None or now - row.last_used_at >= _NOTED_EVERY:
        ClientSecret.objects.filter(pk=row.pk).update(last_used_at=now)
    return row.relying_party.named_in_log()


def active_party(client_id: str) -> RelyingParty | None:
    """The active relying party with this client ID, read without its logo; None if there is none."""
    active = RelyingParty.objects.filter(client_id=client_id, state=RelyingParty.State.ACTIVE)
    return active.defer("logo").first()


def _by_assertion(form: Mapping[str, str], now: datetime) -> RelyingParty:
    if form.get("client_assertion_type") != assertion.TYPE or "client_assertion" not in form:
        raise InvalidClientError(f"client_assertion goes with client_assertion_type {assertion.TYPE}.")
    try:
        client_id = assertion.unverified_subject(form["client_assertion"])
        if form.get("client_id", client_id) != client_id:
            raise InvalidClientError("client_id differs from that in the client assertion.")
        relying_party = active_party(client_id)
        if relying_party is None:
            raise InvalidClientError("The client is not known.")
        jti, expires_at = assertion.verify(
            form["client_assertion"],
            client_id=client_id,
            find_keys=partial(keys_of, relying_party),
            audiences=_audiences(relying_party),
            now=now,
        )
    except fetched_keys.KeysUnderWayError as error:
        raise UnavailableError(seconds=fetched_keys.SOON) from error
    _use_up(client_id, jti, expires_at)
    return relying_party.named_in_log()


def keys_of(relying_party: RelyingParty, kid: str | None) -> ClientKeys:
    """The registered public keys of a relying party, fetched from its `jwks_uri` if it has one.

    kid: the key that is needed; the keys may be fetched again for it. Raises KeysUnderWayError.
    """
    if relying_party.jwks_uri:
        return fetched_keys.published_at(relying_party.jwks_uri, kid=kid)
    return public_keys.read(relying_party.jwks) if relying_party.jwks else {}


def _audiences(relying_party: RelyingParty) -> list[str]:
    """The issuer (7523bis); for a relying party that may name an endpoint also two of these (RFC 9126 §2)."""
    endpoints = (TOKEN_PATH, PUSH_PATH) if relying_party.may_name_endpoint else ()
    return [settings.BASE_URL, *(settings.BASE_URL + path for path in endpoints)]


def _use_up(client_id: str, jti: str, expires_at: datetime) -> None:
    """Stores that the assertion was used; raises InvalidClientError if it was used before."""
    digest = sha256_hex(f"{client_id}\n{jti}")
    with connection.cursor() as cursor:
        cursor.execute(_USE, [digest, connection.ops.adapt_datetimefield_value(expires_at)])
        if cursor.rowcount != 1:
            raise InvalidClientError("The client assertion was used before (jti).")
