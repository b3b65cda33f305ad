"""The public keys of a relying party as a JWK set (RFC 7517 §5): P-256 only, no private keys. Pure."""

import json
from collections.abc import Mapping
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from django.utils.translation import gettext_lazy as _

from infra import strict_json
from infra.outbound.targets import parse
from infra.registering import NotRegistrableError
from infra.strict_json import StrictJsonError
from infra.words import Words
from keys.jwk import public_key_of
from keys.jws import JwsError

MOST = 20  # keys
DEEPEST = 10  # levels of JSON; a JWK set has three
LONGEST_KID = 200
ENCRYPTION = "ECDH-ES"
_AGREEMENT = frozenset({"deriveKey", "deriveBits"})
_PRIVATE = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})  # RFC 7518 §6

ClientKeys = Mapping[str, ec.EllipticCurvePublicKey]  # by kid


def from_json(text: str) -> Any:
    """The JSON value in the text, not validated yet; raises NotRegistrableError."""
    try:
        return strict_json.loads(text, deepest=DEEPEST)
    except StrictJsonError:
        raise NotRegistrableError(_("This is not JSON.")) from None


def read(value: Any) -> ClientKeys:
    """The signature keys of a set that an operator entered, all usable; raises NotRegistrableError."""
    keys: dict[str, ec.EllipticCurvePublicKey] = {}
    members, kids = _members(value), set()
    for jwk in members:
        kid = jwk.get("kid")
        if not isinstance(kid, str) or not 0 < len(kid) <= LONGEST_KID:
            raise NotRegistrableError(_("Every key needs a kid of at most 200 characters."))
        if kid in kids:
            raise NotRegistrableError(_("Two keys have the same kid."))
        kids.add(kid)
        try:
            key = public_key_of(jwk)
        except JwsError:
            raise NotRegistrableError(_("Every key must be a public key on the curve P-256.")) from None
        if _is_for_signatures(jwk):
            keys[kid] = key
        elif not is_for_encryption(jwk):
            raise NotRegistrableError(_("A key is marked for something else than ES256 or ECDH-ES."))
    if not members:
        raise NotRegistrableError(_("The set has no key."))
    return keys


def for_encryption(value: Any) -> list[Mapping[str, Any]]:
    """The keys of a set that answers can be encrypted to, in their order; none if there is no set."""
    keys = value.get("keys") if isinstance(value, dict) else None
    return [jwk for jwk in keys if is_for_encryption(jwk)] if isinstance(keys, list) else []


def is_for_encryption(jwk: Any) -> bool:
    """Whether this is a public P-256 key with alg ECDH-ES (OpenID4VP 1.0 §8.3)."""
    if not isinstance(jwk, dict) or jwk.get("alg") != ENCRYPTION or jwk.get("use", "enc") != "enc":
        return False
    kid, operations = jwk.get("kid"), jwk.get("key_ops", [])  # optional (RFC 7517 §4.3)
    if kid is not None and not (isinstance(kid, str) and 0 < len(kid) <= LONGEST_KID):
        return False
    if not isinstance(operations, list) or (operations and not _AGREEMENT & set(map(str, operations))):
        return False
    try:
        public_key_of(jwk)
    except JwsError:
        return False
    return True


def read_published(value: Any) -> ClientKeys:
    """The signature keys of a published set; unusable keys are skipped (RFC 7517 §5)."""
    keys: dict[str, ec.EllipticCurvePublicKey] = {}
    repeated = set()
    for jwk in _members(value):
        try:
            new_keys = read({"keys": [jwk]})
        except NotRegistrableError:
            continue
        repeated |= new_keys.keys() & keys.keys()
        keys |= new_keys
    if repeated:
        raise NotRegistrableError(_("Two keys have the same kid."))
    return keys


def problem_with(jwks: Any, jwks_uri: str, *, loopback: bool = False) -> Words | None:
    """Why these keys or this address cannot be registered, for the operator; None if they can.

    loopback: accept an http address on this machine.
    """
    try:
        if jwks is not None and jwks_uri:
            return _("Give either the keys or their address, not both.")
        if jwks is not None:
            read(jwks)
            _check_storable(jwks)
        if jwks_uri:
            parse(jwks_uri, loopback=loopback)
    except NotRegistrableError as error:
        return error.reason
    return None


def _check_storable(jwks: Any) -> None:
    """Raises NotRegistrableError for values that no column can store: fractions (Decimal) and NUL."""
    try:
        text = json.dumps(jwks)
    except (TypeError, ValueError, RecursionError):
        text = ""
    if not text or "\\u0000" in text:
        raise NotRegistrableError(_("A key has a member that cannot be stored."))


def _members(value: Any) -> list[dict[str, Any]]:
    keys = value.get("keys") if isinstance(value, dict) else None
    if not isinstance(keys, list) or not all(isinstance(jwk, dict) for jwk in keys):
        raise NotRegistrableError(_('This is not a JWK set: an object with a list of "keys".'))
    if len(keys) > MOST:
        raise NotRegistrableError(_("A set must have at most 20 keys."))
    if any(_PRIVATE & jwk.keys() for jwk in keys):
        raise NotRegistrableError(
            _("There is a private or secret key in it. Make a new one and keep it to yourself.")
        )
    return keys


def _is_for_signatures(jwk: Mapping[str, Any]) -> bool:
    operations = jwk.get("key_ops", ["verify"])
    fits = jwk.get("use", "sig") == "sig" and jwk.get("alg", "ES256") == "ES256"
    return fits and isinstance(operations, list) and "verify" in operations
