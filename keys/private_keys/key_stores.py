"""Private keys: each is kept sealed in its row or in a hardware module, as chosen when it is made."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from infra.files import FileError, secret_in
from infra.sealing import seal_column, unseal_column
from keys.jwk import any_public_key_from_der, public_der
from keys.jws import is_signed_by
from keys.models import Key
from keys.private_keys.signer import (
    SOFTWARE_SIGNERS,
    RsaSoftwareSigner,
    Signer,
    SignerUnavailableError,
    SoftwareSigner,
)
from keys.rotation.key_events import SERVICE, Action, record

if TYPE_CHECKING:
    from keys.private_keys.hardware_module import HardwareModule

State, Store = Key.State, Key.Store

log = structlog.get_logger(__name__)
_modules: dict[tuple[str, str, str, str], "HardwareModule"] = {}


def make_private_key(key: Key) -> None:
    """Makes the key pair of a row that is not saved yet; raises SealError, SignerUnavailableError."""
    if key.store == Store.PKCS11:
        key.public_key = hardware_module().generate(key.id, algorithm=key.algorithm)
    else:
        signer = SOFTWARE_SIGNERS[key.algorithm].generate()
        key.public_key = public_der(signer.public_key)
        key.sealed_private_key = seal_column(key, "sealed_private_key", signer.to_der())


@contextmanager
def forgotten_unless_saved(key: Key) -> Iterator[None]:
    """Wraps the transaction that saves a new key: if it fails, the key pair in the module is destroyed."""
    try:
        yield
    except BaseException:
        if key.store == Store.PKCS11:
            try:
                hardware_module().destroy(key.id)
            except SignerUnavailableError as error:
                log.error("private_key_left_in_module", kid=str(key.id), why=str(error))
        raise


def signer_of(key: Key) -> Signer:
    """The signer of this key; raises SealError when it cannot be opened, SignerUnavailableError."""
    if key.store == Store.SOFTWARE:
        return software_signer_of(key)
    signer = hardware_module().signer(key.id, any_public_key_from_der(key.public_key))
    question = b"whose key is it?"
    if not is_signed_by(signer.public_key, signer.sign(question), question):
        raise SignerUnavailableError(
            _("The hardware module holds another key than %(kid)s under its id.") % {"kid": key}
        )
    return signer


def software_signer_of(key: Key) -> SoftwareSigner | RsaSoftwareSigner:
    """The signer for a key that is sealed in its row."""
    return SOFTWARE_SIGNERS[key.algorithm].from_der(unseal_column(key, "sealed_private_key"))


def to_destroy(kind: type[Key]) -> QuerySet[Key]:
    """Keys of this kind in the module that can never sign again and are not destroyed yet."""
    return kind._default_manager.filter(
        store=Store.PKCS11, state__in=[State.RETIRED, State.WITHDRAWN], destroyed_at=None
    )


def destroy(key: Key, *, now: datetime, actor: str = SERVICE) -> bool:
    """Destroys the private key in the module if it is one of `to_destroy`; gives whether this call did it.

    Must not be called in a transaction, which could still be rolled back. Raises SignerUnavailableError.
    """
    waiting = to_destroy(type(key)).filter(pk=key.pk)
    if not waiting.exists():
        return False
    was_there = hardware_module().destroy(key.pk)
    reason = (
        _("It can never sign again.") if was_there else _("The hardware module did not hold it any more.")
    )
    with transaction.atomic():
        if not waiting.update(destroyed_at=now):
            return False
        record(Action.DESTROYED, key.pk, actor=actor, reason=reason, now=now)
    log.info("private_key_destroyed", kid=str(key.pk), was_there=was_there)
    return True


def destroy_once_committed(key: Key, *, now: datetime, actor: str) -> None:
    """Destroys the private key after the commit; if that fails, `due_steps.rotate` does it later."""

    def attempt() -> None:
        try:
            destroy(key, now=now, actor=actor)
        except SignerUnavailableError as error:
            log.error("private_key_not_destroyed", kid=str(key.pk), why=str(error))

    if key.store == Store.PKCS11:
        transaction.on_commit(attempt, robust=True)


def hardware_module() -> "HardwareModule":
    """This process's hardware module; raises SignerUnavailableError when there is none."""
    if not settings.PKCS11_MODULE:
        raise SignerUnavailableError(_("PKCS11_MODULE names no hardware module."))
    facts = (settings.PKCS11_MODULE, settings.PKCS11_TOKEN, settings.PKCS11_PIN, settings.PKCS11_PIN_FILE)
    # All threads share one object and its lock: two threads must not be in the module at once.
    return _modules.get(facts) or _modules.setdefault(facts, _module(*facts))


def _module(path: str, token: str, pin: str, pin_file: str) -> "HardwareModule":
    try:
        from keys.private_keys.hardware_module import HardwareModule
    except ImportError as error:
        raise SignerUnavailableError(
            _("PKCS11_MODULE is set, and the packages of requirements/hsm.txt are not installed.")
        ) from error
    return HardwareModule(path, token, pin=partial(_pin, pin, pin_file))


def _pin(pin: str, pin_file: str) -> str:
    """The pin, read at each login, so that a corrected file takes effect."""
    try:
        return secret_in(pin_file) if pin_file else pin
    except FileError as error:
        raise SignerUnavailableError(f"PKCS11_PIN_FILE: {error}") from error
