"""System checks of the keys and their settings, so that mistakes show at the start and not at a request."""

import os
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Info, Tags, Warning, register
from django.utils.timezone import now

from infra import secret_texts
from infra.checks import from_database
from infra.files import FileError, others_can_read, secret_in
from keys.certificates import command
from keys.certificates.authority import SubjectError, requested_subject
from keys.certificates.watch import ending_certificates
from keys.models import SigningKey
from keys.private_keys.backup import in_hardware
from keys.rotation.plan import in_use, spare
from keys.sealed_columns import sealed_columns


@register(Tags.security)
def sealing_keys(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """KEY_SEALING_KEYS is set, nobody guesses its keys (`secret_texts`), and no key occurs twice."""
    keys = settings.KEY_SEALING_KEYS
    messages: list[CheckMessage] = []
    if not keys:
        messages.append(Error("KEY_SEALING_KEYS is empty, so nothing can be sealed.", id="keys.E001"))
    if fault := secret_texts.fault("KEY_SEALING_KEYS", keys):
        hint = 'Make one with: python3 -c "import secrets; print(secrets.token_urlsafe(32))"'
        messages.append(Error(f"KEY_SEALING_KEYS {fault}.", hint=hint, id="keys.E002"))
    if len(set(keys)) != len(keys):
        messages.append(Error("KEY_SEALING_KEYS names a key twice.", id="keys.E003"))
    return messages


@register(Tags.security)
def secret_files(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Files with secrets must not be readable by every account of the machine."""
    return [
        Warning(
            f"{name}: every account of this machine can read {path}.", hint=f"chmod o= {path}", id="keys.W001"
        )
        for name, path in settings.SECRET_FILES.items()
        if others_can_read(path)
    ]


@register(Tags.security)
def hardware_module(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """The settings of the hardware module are complete. Does not log in: tokens count wrong pins."""
    return [Error(text, id="keys.E008") for text in _faults_of_hardware_settings()]


def _faults_of_hardware_settings() -> Iterator[str]:
    module, store = settings.PKCS11_MODULE, settings.SIGNING_KEY_STORE
    if store not in SigningKey.Store.values:
        yield f"SIGNING_KEY_STORE must be {' or '.join(SigningKey.Store.values)}."
    if not module:
        alone = [
            name for name in ("PKCS11_TOKEN", "PKCS11_PIN", "PKCS11_PIN_FILE") if getattr(settings, name)
        ]
        alone += ["SIGNING_KEY_STORE=pkcs11"] if store == SigningKey.Store.PKCS11 else []
        if alone:
            yield f"PKCS11_MODULE is not set, and this is: {', '.join(alone)}."
        return
    if not os.path.isfile(module):  # `Path.is_file` raises if the folder cannot be entered
        yield f"PKCS11_MODULE: there is no file {module}."
    if find_spec("pkcs11") is None:
        yield "PKCS11_MODULE is set, and the packages of requirements/hsm.txt are not installed."
    if not settings.PKCS11_TOKEN:
        yield "PKCS11_MODULE is set, and PKCS11_TOKEN does not name the token."
    if not settings.PKCS11_PIN and not settings.PKCS11_PIN_FILE:
        yield "PKCS11_MODULE is set, and neither PKCS11_PIN nor PKCS11_PIN_FILE."
    if settings.PKCS11_PIN_FILE:
        try:
            secret_in(settings.PKCS11_PIN_FILE)
        except FileError as error:
            yield f"PKCS11_PIN_FILE: {error}"


@register()
def certificate_subject(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """CERTIFICATE_SUBJECT, when it is set, is a distinguished name."""
    try:
        requested_subject()
    except SubjectError as error:
        return [Error(str(error), id="keys.E004")]
    return []


@register()
def schedule(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """A key signs for longer than its successor waits."""
    if settings.SIGNING_KEY_STAGED_FOR < settings.SIGNING_KEY_PERIOD:
        return []
    message = "SIGNING_KEY_DAYS is too short: the next key waits for 48 hours."
    return [Error(message, hint="3 at least; the default is 90.", id="keys.E007")]


@register(Tags.security, deploy=True)
def certificates(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Reports certificates in use that have ended or end soon. Queries the database, if there is one.

    Gives no warnings, because `deploy/systemd` starts the service only without any. While operators wait for
    the authority, the service must start: the key set and the admin are needed most then.
    """
    endings = from_database(lambda: ending_certificates(now=now()))
    if endings is None:
        return [Info("No database, or an empty one: certificates were not checked.", id="keys.I001")]
    return [Info(str(ending), id="keys.I003" if ending.stage else "keys.I004") for ending in endings]


@register(Tags.security, deploy=True)
def sealed_values(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Every value is sealed under one of KEY_SEALING_KEYS. Queries the database, if there is one."""
    if not settings.KEY_SEALING_KEYS:
        return []  # `sealing_keys` reports it
    lost = from_database(lambda: [(column, column.lost()) for column in sealed_columns()])
    if lost is None:
        return [Info("No database, or an empty one: sealed values were not checked.", id="keys.I002")]
    return [
        Error(
            f"{column}: {count} values are sealed under the key {key_id}, not among KEY_SEALING_KEYS.",
            hint="They open only with that key: put it back into the list, then run manage.py reseal. "
            f"If it is lost for good: manage.py reseal --forget {key_id}.",
            id="keys.E006",
        )
        for column, counts in lost
        for key_id, count in counts.items()
    ]


@register(Tags.security, deploy=True)
def keys_in_hardware(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """A key in a hardware module needs PKCS11_MODULE. Queries the database, if there is one."""
    if settings.PKCS11_MODULE:
        return []
    return [
        Error(f"Signing key {key} is in a hardware module, and PKCS11_MODULE is not set.", id="keys.E009")
        for key in from_database(in_hardware) or ()
    ]


@register(Tags.security, deploy=True)
def spare_key(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """With SIGNING_KEY_SPARE a certified key stands ready. No warning, because the service must start."""
    if not settings.SIGNING_KEY_SPARE:
        return []
    spares = from_database(lambda: [spare(now=now(), kind=kind) for kind in in_use()])
    message = "SIGNING_KEY_SPARE is set, and no staged key with valid certificates stands ready."
    return [Info(message, id="keys.I005")] if spares and None in spares else []


@register(Tags.security)
def certificate_command(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """CERTIFICATE_COMMAND, when it is set, is a program that nobody but its owner can replace."""
    path = settings.CERTIFICATE_COMMAND
    fault = command.fault(path) if path else ""
    return [Error(f"CERTIFICATE_COMMAND {fault}.", id="keys.E010")] if fault else []
