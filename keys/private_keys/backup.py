"""Exports every key with its private part as one document, and restores it after a loss of the database.

The private part of a key in a hardware module cannot be exported; the document has the other facts of it.
`backup_file` encrypts the document. It can be restored only into a database without keys, of a service with
the same base address; its keys are then sealed anew, and the key set is the same to the byte.
"""

import json
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, transaction

from infra import base64url, strict_json
from infra.sealing import seal_column, unseal_column
from infra.strict_json import StrictJsonError
from keys.certificates.chain import BrokenChainError
from keys.jwk import public_der
from keys.models import KINDS, Authority, IdTokenKey, Key, SigningKey, StatementKey
from keys.private_keys.backup_file import BackupError
from keys.private_keys.key_stores import Store, software_signer_of
from keys.private_keys.signer import SOFTWARE_SIGNERS, SoftwareSigner
from keys.rotation.key_events import Action, record

VERSION = 1
_SIGNS = (Key.State.STAGED, Key.State.ACTIVE)
_MEMBERS: dict[type[Key], str] = {
    SigningKey: "keys",
    StatementKey: "statement_keys",
    IdTokenKey: "id_token_keys",
}
_PEMS = ("root_pem", "issuing_pem")


def export(*, actor: str, reason: str, now: datetime) -> bytes:
    """The unencrypted document. Also adds a key event, so call it in a transaction.

    Raises BackupError when there is no key, SealError when a key cannot be opened.
    """
    keys = {kind: [_key_facts(key) for key in kind.objects.all()] for kind in KINDS}
    if not keys[SigningKey]:
        raise BackupError("There are no signing keys to export.")
    authority = Authority.objects.first()
    record(Action.EXPORTED, None, actor=actor, reason=reason, now=now)
    document = {
        "version": VERSION,
        "base_url": settings.BASE_URL,
        "exported_at": now.isoformat(),
        **{_MEMBERS[kind]: facts for kind, facts in keys.items()},
        "authority": _authority_facts(authority) if authority else None,
    }
    return json.dumps(document).encode()


def restore(document: bytes, *, actor: str, reason: str, now: datetime) -> int:
    """Restores all keys of an export, or none, and gives their number.

    Raises BackupError when the database has keys already, or when the document is not valid.
    """
    facts = _parse(document)
    try:
        with transaction.atomic():
            if any(model.objects.exists() for model in (*KINDS, Authority)):
                raise BackupError(
                    "There are signing keys here already; a backup needs a database without any."
                )
            # Early exports have no keys for statements, or none for ID tokens.
            keys = [(kind, key) for kind, member in _MEMBERS.items() for key in facts.get(member, [])]
            for kind, key in keys:
                _key(kind, key).save(force_insert=True)
            if facts["authority"] is not None:
                _authority(facts["authority"]).save(force_insert=True)
            record(Action.IMPORTED, None, actor=actor, reason=reason, now=now)
    except (KeyError, TypeError, ValueError, AttributeError, BrokenChainError, DatabaseError) as error:
        raise BackupError(
            f"The backup holds something that is no key of ours ({type(error).__name__})."
        ) from None
    return len(keys)


def in_hardware() -> list[Key]:
    """The staged and active keys whose private key no export contains."""
    return [key for kind in KINDS for key in kind.objects.filter(store=Store.PKCS11, state__in=_SIGNS)]


def _parse(document: bytes) -> dict[str, Any]:
    try:
        facts = strict_json.read(document)
    except StrictJsonError:
        facts = None
    if not isinstance(facts, dict) or facts.get("version") != VERSION:
        raise BackupError(f"This is no backup of keys of version {VERSION}.")
    if not isinstance(facts.get("keys"), list) or not facts["keys"] or "authority" not in facts:
        raise BackupError("The backup holds no keys.")
    if facts.get("base_url") != settings.BASE_URL:
        raise BackupError(f"The backup is of {facts.get('base_url')!r}, and this is {settings.BASE_URL!r}.")
    return facts


def _key_facts(key: Key) -> dict[str, Any]:
    times = {name: time.isoformat() if (time := getattr(key, name)) else None for name in Key.TIMES}
    return {
        "id": str(key.id),
        "state": key.state,
        "store": key.store,
        "private_key": base64url.encode(software_signer_of(key).to_der()) if key.sealed_private_key else "",
        "public_key": base64url.encode(bytes(key.public_key)),
        "chain_pem": key.chain_pem,
        "reason": key.reason,
        **times,
    }


def _key(kind: type[Key], facts: dict[str, Any]) -> Key:
    """The row. Raises an error if the private key is missing or wrong, or if the chain is not valid."""
    facts = {"store": Store.SOFTWARE, "destroyed_at": None, **facts}  # early exports lack these members
    times = {name: datetime.fromisoformat(facts[name]) if facts[name] else None for name in Key.TIMES}
    key = kind(
        id=UUID(facts["id"]),
        state=Key.State(facts["state"]),
        store=Store(facts["store"]),
        public_key=base64url.decode(facts["public_key"]),
        chain_pem=str(facts["chain_pem"]),
        reason=str(facts["reason"]),
        sealed_private_key=b"",
        **times,
    )
    if key.store == Store.SOFTWARE and key.state in _SIGNS:
        signer = SOFTWARE_SIGNERS[kind.algorithm].from_der(base64url.decode(facts["private_key"]))
        if public_der(signer.public_key) != key.public_key:
            raise ValueError("the private key does not fit the public key")
        key.sealed_private_key = seal_column(key, "sealed_private_key", signer.to_der())
    if key.certified_at:
        key.chain(at=key.certified_at)
    return key


def _authority_facts(authority: Authority) -> dict[str, Any]:
    opened = {column: base64url.encode(unseal_column(authority, column)) for column in Authority.SEALED}
    pems = {name: getattr(authority, name) for name in _PEMS}
    return {**pems, **opened, "created_at": authority.created_at.isoformat()}


def _authority(facts: dict[str, Any]) -> Authority:
    pems = {name: str(facts[name]) for name in _PEMS}
    authority = Authority(**pems, created_at=datetime.fromisoformat(facts["created_at"]))
    for column in Authority.SEALED:
        signer = SoftwareSigner.from_der(base64url.decode(facts[column]))
        setattr(authority, column, seal_column(authority, column, signer.to_der()))
    return authority
