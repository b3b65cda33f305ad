"""The life of a signing key in a hardware module, tested with SoftHSM 2."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from functools import partial
from io import StringIO
from pathlib import Path
from threading import Barrier, Lock
from time import sleep
from typing import Any

import pytest
from cryptography import x509
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from keys.checks import hardware_module, keys_in_hardware
from keys.endpoints import key_set
from keys.issuer_key import active_issuer_key, statement_key
from keys.jwk import public_der
from keys.models import Authority, KeyEvent, SigningKey, StatementKey
from keys.private_keys import key_stores
from keys.private_keys.backup import export
from keys.private_keys.key_stores import signer_of
from keys.private_keys.signer import SignerUnavailableError
from keys.rotation import due_steps, transitions
from keys.rotation.key_events import shell_user
from keys.rotation.plan import outlook
from keys.rotation.states import IN_FLIGHT, State, find, in_state
from tests.keys.admin_pages import LIST, operator, page
from tests.keys.chains import chain_for
from tests.keys.compact_jws import sign_compact, verify_compact
from tests.keys.openssl import openssl
from tests.people import register
from tests.presentation.requests.authorization_requests import fragment
from tests.presentation.requests.deciding import ask, decide
from tests.softhsm import LABEL, SOFTHSM, Token

pytestmark = [pytest.mark.softhsm, pytest.mark.django_db(transaction=True)]
DAY = timedelta(days=1)


def run(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out, stderr=out)
    return out.getvalue()


LOOK = """
import pkcs11, sys, uuid
session = pkcs11.lib(sys.argv[1]).get_token(token_label=sys.argv[2]).open(user_pin=sys.argv[3])
for key in session.get_objects():
    print(uuid.UUID(bytes=key[pkcs11.Attribute.ID]))
"""


def pairs(token: Token) -> set[str]:
    """The ids of the keys in the module, read by another process."""
    words = [sys.executable, "-c", LOOK, SOFTHSM, LABEL, token.pin]
    done = subprocess.run(words, env=token.environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def lose() -> None:
    """Loses the database, but not the module."""
    SigningKey.objects.all().delete()
    Authority.objects.all().delete()


@pytest.fixture
def in_hardware(token: Token, settings: Any) -> Token:
    """New keys are made in the module by default."""
    settings.SIGNING_KEY_STORE = "pkcs11"
    return token


@pytest.fixture
def keeper(db: None) -> Client:
    return operator("keeper", "view_signingkey", "change_signingkey")


@pytest.fixture
def succession(in_hardware: Token, now: datetime) -> dict[str, SigningKey]:
    """An active key and a staged key that may take over, both in the module."""
    due_steps.rotate(now=now - 3 * DAY)
    transitions.stage(now=now - DAY)
    return {key.state: key for key in SigningKey.objects.all()}


def test_a_service_whose_keys_are_in_the_module_signs_with_them(in_hardware: Token, now: datetime) -> None:
    due_steps.rotate(now=now)
    key = SigningKey.objects.get()
    assert (key.store, bytes(key.sealed_private_key), key.state) == ("pkcs11", b"", "active")
    issuer_key = active_issuer_key(now=now)
    token = sign_compact(issuer_key.header("t"), {"a": 1}, issuer_key.signer)
    leaf = key.chain(at=now).leaf
    assert verify_compact(token, leaf.public_key(), typ="t") == {"a": 1}  # type: ignore[arg-type]
    assert pairs(in_hardware) == {str(key)}


def test_threads_that_come_first_together_share_one_way_into_the_module(
    token: Token, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow_lock() -> Any:
        sleep(0.05)  # time for the other threads to arrive
        return Lock()

    monkeypatch.setattr("keys.private_keys.hardware_module.Lock", slow_lock)
    together = Barrier(4)

    def come(_number: int) -> object:
        together.wait(10)
        return key_stores.hardware_module()

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(come, range(4)))) == 1


def test_the_store_is_chosen_for_each_key(token: Token, now: datetime) -> None:
    assert "Staged key" in run("stage_signing_key")
    software = in_state(State.STAGED)
    due_steps.rotate(now=now)
    assert "Staged key" in run("stage_signing_key", "--store", "pkcs11")
    hardware = in_state(State.STAGED)
    assert software is not None
    assert hardware is not None
    assert (find(software.pk).store, hardware.store) == ("software", "pkcs11")
    assert pairs(token) == {str(hardware)}
    for key in (find(software.pk), hardware):
        assert signer_of(key).sign(b"message")


def test_openssl_verifies_the_request_of_a_key_in_the_module_and_its_chain_lets_it_sign(
    in_hardware: Token, settings: Any, now: datetime, tmp_path: Path
) -> None:
    settings.SELF_CERTIFYING_AUTHORITY = False
    settings.BASE_URL = "https://wallet.example"
    printed = run("stage_signing_key")
    key = SigningKey.objects.get()
    request = printed[printed.index("-----BEGIN") :]
    text = openssl("req", "-verify", "-noout", "-text", stdin=request)
    assert "DNS:wallet.example\n" in text
    assert "Digital Signature" in text
    assert public_der(x509.load_pem_x509_csr(request.encode()).public_key()) == bytes(key.public_key)  # type: ignore[arg-type]
    (tmp_path / "chain.pem").write_text(chain_for(key, now))
    run("certify_signing_key", str(key), "--chain", str(tmp_path / "chain.pem"))
    assert "Activated" in run("rotate_signing_keys")
    assert active_issuer_key(now=timezone.now()).signer.sign(b"message")


def test_a_withdrawn_key_is_destroyed_and_the_record_says_so(
    succession: dict[str, SigningKey], token: Token
) -> None:
    lost = succession["active"]
    run("withdraw_signing_key", str(lost), "--reason", "seen elsewhere", "--yes")
    assert pairs(token) == {str(succession["staged"])}
    assert find(lost.pk).destroyed_at is not None
    events = KeyEvent.objects.filter(kid=lost.pk).values_list("action", "actor", "reason")
    assert ("destroyed", shell_user(), "It can never sign again.") in set(events)
    assert active_issuer_key(now=timezone.now()).signer.sign(b"message")


def test_nothing_is_destroyed_when_the_withdrawal_is_rolled_back(
    succession: dict[str, SigningKey], token: Token, now: datetime
) -> None:
    with transaction.atomic():
        transitions.withdraw(succession["active"].pk, reason="x", now=now)
        transaction.set_rollback(True)
    assert len(pairs(token)) == 2
    assert active_issuer_key(now=now).signer.sign(b"message")


def test_requests_that_read_a_key_as_active_may_still_sign_before_it_is_destroyed(
    succession: dict[str, SigningKey], token: Token, now: datetime
) -> None:
    old = active_issuer_key(now=now)
    transitions.activate(succession["staged"].pk, now=now)
    assert old.signer.sign(b"message")
    assert active_issuer_key(now=now).kid == str(succession["staged"])
    due_steps.rotate(now=now + IN_FLIGHT - timedelta(seconds=1))
    assert str(old.kid) in pairs(token)
    report = due_steps.rotate(now=now + IN_FLIGHT)
    assert [one.what for one in report.done] == ["destroyed"]
    assert pairs(token) == {str(succession["staged"])}
    assert find(old.kid).destroyed_at == now + IN_FLIGHT
    assert due_steps.rotate(now=now + IN_FLIGHT).done == ()


@pytest.mark.postgresql
def test_of_several_that_destroy_a_key_at_once_one_does_and_the_record_says_so_once(
    succession: dict[str, SigningKey], at_once: Callable[..., list[Any]], now: datetime
) -> None:
    old = succession["active"]
    transitions.activate(succession["staged"].pk, now=now)
    destroy = partial(key_stores.destroy, find(old.pk), now=now + IN_FLIGHT)
    assert sorted(at_once(*[destroy] * 4)) == [False, False, False, True]
    assert KeyEvent.objects.filter(kid=old.pk, action="destroyed").count() == 1


def test_what_cannot_be_destroyed_now_is_shown_until_it_is(
    succession: dict[str, SigningKey],
    token: Token,
    now: datetime,
    keeper: Client,
    logged: list[dict[str, Any]],
) -> None:
    lost, next_ = succession["active"], succession["staged"]
    token.take_away()
    transitions.withdraw(lost.pk, reason="seen elsewhere", now=now)
    assert (find(lost.pk).state, find(next_.pk).state) == (State.WITHDRAWN, State.ACTIVE)
    assert "private_key_not_destroyed" in [event["event"] for event in logged]
    waits = f"The private key of {lost} is to be destroyed in its hardware module"
    would = f"Would have the hardware module destroy the private key of {lost}."
    assert would in run("rotate_signing_keys", "--dry-run")
    assert waits in "".join(outlook(now=now).lines())
    assert waits in keeper.get(LIST).content.decode()
    assert "still in the hardware module, to be destroyed" in keeper.get(page(lost)).content.decode()
    report = due_steps.rotate(now=now)
    assert [one.what for one in report.problems] == ["step_failed"]
    assert waits in "".join(report.lines())
    token.put_back()
    assert f"Destroyed the private key of {lost}" in run("rotate_signing_keys")
    assert pairs(token) == {str(next_), str(in_state(State.ACTIVE, StatementKey))}
    assert statement_key(now=timezone.now()).signer.sign(b"a statement")
    assert waits not in keeper.get(LIST).content.decode()
    assert "destroyed in the hardware module" in keeper.get(page(lost)).content.decode()


def test_while_the_module_is_away_the_rest_of_a_rotation_is_done(
    succession: dict[str, SigningKey], token: Token, now: datetime
) -> None:
    token.take_away()
    report = due_steps.rotate(now=now + 100 * DAY)
    assert [one.what for one in report.done][:2] == ["activated", "retired"]
    report = due_steps.rotate(now=now + 189 * DAY)
    assert [one.what for one in report.done] == ["withdrawn"]
    assert [one.what for one in report.problems] == ["step_failed"] * 2  # one to be made, one to be destroyed
    token.put_back()
    done = [one.what for one in due_steps.rotate(now=now + 189 * DAY).done]
    assert sorted(done) == ["destroyed", "staged"]


def test_a_key_that_is_not_saved_is_not_left_in_the_module(
    in_hardware: Token, now: datetime, monkeypatch: Any
) -> None:
    key = transitions.stage(now=now)
    with pytest.raises(transitions.RotationRefusedError, match="staged already"):
        transitions.stage(now=now)
    monkeypatch.setattr(
        transitions, "in_state", lambda state, kind: None
    )  # as if another process were staging a key
    with pytest.raises(transitions.RotationRefusedError, match="staged already"):
        transitions.stage(now=now)
    assert pairs(in_hardware) == {str(key)}


@pytest.mark.postgresql
def test_staging_together_leaves_one_key_in_the_module(
    in_hardware: Token, now: datetime, at_once: Any
) -> None:
    results = at_once(*[lambda: transitions.stage(now=now)] * 6)
    made = [result for result in results if isinstance(result, SigningKey)]
    assert len(made) == 1
    assert pairs(in_hardware) == {str(made[0])}


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("PKCS11_PIN", "00000000", "refuses the pin of the token “signing keys”"),
        ("PKCS11_TOKEN", "elsewhere", "has no token labelled “elsewhere”."),
        ("PKCS11_MODULE", "/nowhere.so", "/nowhere.so cannot be opened"),
        ("PKCS11_MODULE", "", "PKCS11_MODULE names no hardware module."),
    ],
)
def test_what_is_wrong_with_the_module_is_one_sentence_and_nothing_is_changed(
    in_hardware: Token, settings: Any, keeper: Client, name: str, value: str, sentence: str
) -> None:
    setattr(settings, name, value)
    with pytest.raises(CommandError, match=re.escape(sentence)):
        run("stage_signing_key")
    said = keeper.post(f"{LIST}do/stage/", {"store": "pkcs11", "reason": ""}, follow=True).content.decode()
    if name == "PKCS11_PIN":
        assert "tokens lock" in said  # the command tried the pin once
        assert "00000000" not in said
    else:
        assert sentence in said
    assert not SigningKey.objects.exists()
    assert not KeyEvent.objects.exists()


def test_the_admin_asks_for_the_store_where_there_is_a_module(
    token: Token, keeper: Client, settings: Any
) -> None:
    shown = keeper.get(f"{LIST}do/stage/").content.decode()
    assert "in the hardware module" in shown
    assert re.search(r'value="software"[^>]* checked', shown)
    keeper.post(f"{LIST}do/stage/", {"store": "pkcs11", "reason": ""})
    key = SigningKey.objects.get()
    assert key.store == "pkcs11"
    assert "in the hardware module" in keeper.get(page(key)).content.decode()
    settings.PKCS11_MODULE = ""
    assert "in the hardware module" not in keeper.get(f"{LIST}do/stage/").content.decode()


def test_without_the_packages_of_the_extra_it_says_what_is_to_be_installed(
    in_hardware: Token, monkeypatch: Any
) -> None:
    monkeypatch.setitem(sys.modules, "keys.private_keys.hardware_module", None)
    with pytest.raises(CommandError, match=r"requirements/hsm\.txt are not installed"):
        run("stage_signing_key")


def test_another_key_under_the_same_id_never_signs_for_this_one(in_hardware: Token, now: datetime) -> None:
    due_steps.rotate(now=now)
    key = SigningKey.objects.get()
    module = key_stores.hardware_module()
    module.destroy(key.pk)
    module.generate(key.pk)
    with pytest.raises(SignerUnavailableError, match="holds another key than"):
        active_issuer_key(now=now)


def test_a_presentation_is_temporarily_unavailable_while_the_module_is(
    in_hardware: Token, holder: Client, now: datetime
) -> None:
    due_steps.rotate(now=now)
    bank = register("Acme Bank", "https://bank.example/callback")
    active_issuer_key(now=now)
    in_hardware.take_away()
    interaction = decide(holder, ask(holder, bank))
    answer = fragment(holder.get(interaction).headers["Location"])
    assert answer["error"] == "temporarily_unavailable"
    in_hardware.put_back()
    interaction = decide(holder, ask(holder, bank, nonce="another-nonce-of-many-characters"))
    assert "vp_token" in fragment(holder.get(interaction).headers["Location"])


@pytest.mark.parametrize(
    "changes",
    [
        {"store": "pkcs11"},  # with its private key in the row
        {"store": "pkcs11", "sealed_private_key": b"", "destroyed_at": "2026-01-01T00:00Z"},  # while it signs
        {"sealed_private_key": b""},
        {"destroyed_at": "2026-01-01T00:00Z"},
        {"store": "paper"},
    ],
)
def test_the_database_keeps_rows_and_stores_together(signing_key: SigningKey, changes: Any) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        SigningKey.objects.update(**changes)


def test_a_backup_says_what_it_cannot_hold_and_a_restore_works_with_the_module(
    succession: dict[str, SigningKey], now: datetime, tmp_path: Path
) -> None:
    passphrase = tmp_path / "passphrase"
    passphrase.write_text("correct horse battery staple")
    file, secret = str(tmp_path / "keys.jwe"), ["--reason", "x", "--passphrase-file", str(passphrase)]
    before, published = list(SigningKey.objects.values()), key_set()
    said = run("export_keys", file, *secret)
    for key in succession.values():
        assert f"NOT in the file: the private key of {key}." in said
    facts = json.loads(export(actor="ann", reason="x", now=now))
    assert {key["private_key"] for key in facts["keys"]} == {""}
    lose()
    said = run("import_keys", file, *secret)
    assert said.count("The hardware module holds it: it signs again.") == 2
    assert list(SigningKey.objects.values()) == before
    assert key_set() == published
    assert active_issuer_key(now=now).signer.sign(b"message")


def test_a_restore_where_the_module_lacks_the_key_says_so(
    succession: dict[str, SigningKey], token: Token, settings: Any, tmp_path: Path
) -> None:
    passphrase = tmp_path / "passphrase"
    passphrase.write_text("correct horse battery staple")
    file, secret = str(tmp_path / "keys.jwe"), ["--reason", "x", "--passphrase-file", str(passphrase)]
    run("export_keys", file, *secret)
    lose()
    settings.PKCS11_TOKEN = "another"
    token.initialise("another")
    said = run("import_keys", file, *secret)
    assert said.count("It does not sign here: The hardware module does not hold the key.") == 2
    with pytest.raises(SignerUnavailableError):
        active_issuer_key(now=timezone.now())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, []),
        ({"PKCS11_TOKEN": ""}, ["PKCS11_TOKEN does not name the token"]),
        ({"PKCS11_PIN": ""}, ["neither PKCS11_PIN nor PKCS11_PIN_FILE"]),
        ({"PKCS11_PIN": "", "PKCS11_PIN_FILE": "/nowhere"}, ["PKCS11_PIN_FILE: /nowhere cannot be read"]),
        ({"PKCS11_MODULE": "/nowhere.so"}, ["there is no file /nowhere.so"]),
        ({"PKCS11_MODULE": ""}, ["not set, and this is: PKCS11_TOKEN, PKCS11_PIN."]),
        ({"SIGNING_KEY_STORE": "paper"}, ["SIGNING_KEY_STORE must be software or pkcs11."]),
    ],
)
def test_settings_that_contradict_each_other_are_reported(
    token: Token, settings: Any, changes: dict[str, str], said: list[str]
) -> None:
    for name, value in changes.items():
        setattr(settings, name, value)
    found = [error.msg for error in hardware_module(None)]
    assert len(found) == len(said)
    assert all(part in message for part, message in zip(said, found, strict=True))
    assert token.pin not in " ".join(found)


def test_a_deployment_without_the_module_its_keys_are_in_is_refused(
    succession: dict[str, SigningKey], settings: Any
) -> None:
    assert keys_in_hardware(None) == []
    settings.PKCS11_MODULE = ""
    assert {error.id for error in keys_in_hardware(None)} == {"keys.E009"}
    assert len(keys_in_hardware(None)) == 2


def test_a_corrected_pin_file_is_noticed_without_a_restart(
    in_hardware: Token, settings: Any, tmp_path: Path, now: datetime
) -> None:
    file = tmp_path / "pin"
    settings.PKCS11_PIN, settings.PKCS11_PIN_FILE = "", str(file)
    file.write_text("00000000\n")
    with pytest.raises(SignerUnavailableError, match="refuses the pin"):
        transitions.stage(now=now)
    with pytest.raises(SignerUnavailableError, match="Correct PKCS11_PIN_FILE"):
        transitions.stage(now=now)
    file.write_text(in_hardware.pin + "\n")
    assert transitions.stage(now=now).store == "pkcs11"
