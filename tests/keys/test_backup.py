"""Keys survive the loss of the database, and a backup reveals nothing without its passphrase."""

import json
import os
import pty
import stat
import subprocess
import sys
from datetime import datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from jwcrypto import jwa, jwe, jwk

from infra import base64url
from keys.endpoints import key_set
from keys.issuer_key import active_issuer_key
from keys.models import Authority, KeyEvent, SigningKey
from keys.private_keys.backup import export, restore
from keys.private_keys.backup_file import (
    ALG,
    ENC,
    MAX_FILE,
    MOST_ROUNDS,
    BackupError,
    lock,
    require_strong,
    unlock,
)
from keys.rotation import due_steps, transitions
from keys.rotation.key_events import shell_user
from keys.rotation.states import State, in_state
from tests.processes import environment

PASSPHRASE = "correct horse battery staple"
ROOT = Path(__file__).resolve().parent.parent.parent


def run(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out, stderr=out)
    return out.getvalue()


@pytest.fixture
def keys(db: None, now: datetime) -> bytes:
    """A withdrawn, a retired, an active and a staged key; gives their key set."""
    for days in (4, 3, 0):
        due_steps.rotate(now=now - timedelta(days=days))
        transitions.activate(
            transitions.stage(now=now - timedelta(days=days)).pk, now=now - timedelta(days=days - 1)
        )
    due_steps.rotate(now=now + timedelta(days=1))
    transitions.stage(now=now + timedelta(days=1))
    assert set(SigningKey.objects.values_list("state", flat=True)) == set(State)
    return key_set()


@pytest.fixture
def secret(tmp_path: Path) -> list[str]:
    path = tmp_path / "passphrase"
    path.write_text(PASSPHRASE + "\n")
    return ["--reason", "the yearly backup", "--passphrase-file", str(path)]


@pytest.fixture
def file(keys: bytes, tmp_path: Path, secret: list[str]) -> Path:
    """An export, after which the database is lost."""
    path = tmp_path / "keys.jwe"
    run("export_keys", str(path), *secret)
    lose()
    return path


def lose() -> None:
    SigningKey.objects.all().delete()
    Authority.objects.all().delete()


def test_a_restore_serves_the_same_key_set_to_the_byte_and_signs(
    keys: bytes, file: Path, secret: list[str], settings: Any, now: datetime
) -> None:
    settings.KEY_SEALING_KEYS = ["the sealing keys were lost with the database"]
    assert "Imported 5 keys." in run("import_keys", str(file), *secret)
    assert key_set() == keys
    active = active_issuer_key(now=now)
    assert active.kid == str(in_state(State.ACTIVE))
    assert active.signer.sign(b"message")
    transitions.withdraw(in_state(State.STAGED).pk, reason="drill", now=now)  # type: ignore[union-attr]
    assert transitions.stage(now=now).chain_pem.endswith(Authority.objects.get().root_pem)


def test_rows_come_back_as_they_were(keys: bytes, tmp_path: Path, secret: list[str]) -> None:
    columns = [
        f.name for f in SigningKey._meta.get_fields() if f.name not in ("sealed_private_key", "public_key")
    ]
    before = list(SigningKey.objects.values_list(*columns))
    run("export_keys", str(tmp_path / "keys.jwe"), *secret)
    lose()
    run("import_keys", str(tmp_path / "keys.jwe"), *secret)
    assert list(SigningKey.objects.values_list(*columns)) == before


def test_export_and_import_are_recorded(file: Path, secret: list[str]) -> None:
    run("import_keys", str(file), *secret)
    assert list(KeyEvent.objects.filter(kid=None).values_list("action", "actor", "reason", "kid")) == [
        ("imported", shell_user(), "the yearly backup", None),
        ("exported", shell_user(), "the yearly backup", None),
    ]


def test_the_file_is_its_owners_alone_and_shows_nothing(file: Path) -> None:
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    header, *rest = file.read_text().strip().split(".")
    assert len(rest) == 4
    found = json.loads(base64url.decode(header))
    assert (found["alg"], found["enc"], found["p2c"]) == (ALG, ENC, 600_000)
    assert len(base64url.decode(found["p2s"])) == 16


def test_another_implementation_of_the_key_derivation_opens_it(file: Path) -> None:
    """Decrypts by RFC 7518 §4.8.1.1 and RFC 3394 with primitives only."""
    import hashlib

    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.keywrap import aes_key_unwrap

    protected, wrapped, nonce, ciphertext, tag = file.read_text().strip().split(".")
    header = json.loads(base64url.decode(protected))
    salt = ALG.encode() + b"\0" + base64url.decode(header["p2s"])
    wrapping = hashlib.pbkdf2_hmac("sha512", PASSPHRASE.encode(), salt, header["p2c"], 32)
    content_key = aes_key_unwrap(wrapping, base64url.decode(wrapped))
    plain = AESGCM(content_key).decrypt(
        base64url.decode(nonce), base64url.decode(ciphertext) + base64url.decode(tag), protected.encode()
    )
    assert len(json.loads(plain)["keys"]) == 5


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda text: text[:-5], "cut off or changed"),
        (lambda text: text[: text.rindex(".")], "not a backup of keys, or it was cut off"),
        (lambda text: text[:20], "not a backup of keys, or it was cut off"),
        (lambda text: "", "not a backup of keys, or it was cut off"),
        (lambda text: "[" * 100_000 + "....", "not a backup of keys, or it was cut off"),
        (lambda text: text[:-1] + ("A" if text[-1] != "A" else "Q"), "cut off or changed"),
        (lambda text: text.replace(text.split(".")[1], text.split(".")[1][::-1]), "cut off|changed"),
        (lambda text: "é" + text, "is not a backup of keys"),
        (lambda text: "A" * (MAX_FILE + 1), "has more than 4000000 bytes"),
    ],
)
def test_a_damaged_file_is_one_sentence_and_changes_nothing(
    file: Path, secret: list[str], damage: Any, reason: str
) -> None:
    file.write_text(damage(file.read_text().strip()))
    with pytest.raises(CommandError, match=rf"({reason}).*Nothing was changed\.$"):
        run("import_keys", str(file), *secret)
    assert not SigningKey.objects.exists()
    assert not KeyEvent.objects.filter(action="imported").exists()


def test_a_wrong_passphrase_is_one_sentence_and_changes_nothing(file: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong"
    wrong.write_text(PASSPHRASE + "!")
    with pytest.raises(CommandError, match="the passphrase is wrong, or"):
        run("import_keys", str(file), "--reason", "x", "--passphrase-file", str(wrong))
    assert not SigningKey.objects.exists()


@pytest.mark.parametrize(
    "header",
    [
        {"alg": "PBES2-HS256+A128KW"},
        {"enc": "A128GCM"},
        {"p2c": 1000},
        {"p2c": MOST_ROUNDS + 1},
        {"p2c": "600000"},
        {"p2c": True},
        {"zip": "DEF"},
    ],
)
def test_a_header_of_another_kind_is_refused_before_it_costs_anything(header: dict[str, Any]) -> None:
    whole = {"alg": ALG, "enc": ENC, "p2c": 600_000, "p2s": "c2FsdHNhbHRzYWx0", **header}
    text = base64url.encode(json.dumps(whole).encode()) + ".AAAA.AAAA.AAAA.AAAA"
    with pytest.raises(BackupError, match="not a backup of keys, or it was changed"):
        unlock(text, PASSPHRASE)


def test_the_limit_of_the_library_for_other_headers_is_kept() -> None:
    before = jwa.default_max_pbkdf2_iterations
    assert unlock(lock(b"x", PASSPHRASE), PASSPHRASE) == b"x"
    assert jwa.default_max_pbkdf2_iterations == before < 600_000


@pytest.mark.parametrize(
    "weak", ["", "weak", "nineteen characters", "a" * 40, "password" * 4, "abcabcab" * 5]
)
def test_a_weak_passphrase_is_refused_and_never_echoed(weak: str, keys: bytes, tmp_path: Path) -> None:
    with pytest.raises(BackupError) as caught:
        require_strong(weak)
    assert not weak or weak not in str(caught.value)
    path = tmp_path / "weak"
    path.write_text(weak)
    with pytest.raises(CommandError, match="too short|repeats itself"):
        run("export_keys", str(tmp_path / "keys.jwe"), "--reason", "x", "--passphrase-file", str(path))
    assert not (tmp_path / "keys.jwe").exists()
    assert not KeyEvent.objects.filter(action="exported").exists()


@pytest.mark.parametrize("command", ["export_keys", "import_keys"])
def test_what_cannot_be_read_or_has_no_reason_is_refused(command: str, keys: bytes, tmp_path: Path) -> None:
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe")
    target = str(tmp_path / "keys.jwe")
    for words, reason in (
        (["--reason", " "], "Say why, for the record"),
        (
            ["--reason", "x", "--passphrase-file", "/nowhere"],
            "/nowhere cannot be read|keys.jwe cannot be read",
        ),
        (["--reason", "x", "--passphrase-file", str(binary)], "is not text in UTF-8"),
    ):
        with pytest.raises(CommandError, match=reason):
            run(command, target, *words)


def test_a_file_that_exists_is_not_overwritten_and_nothing_is_recorded(
    keys: bytes, tmp_path: Path, secret: list[str]
) -> None:
    path = tmp_path / "keys.jwe"
    path.write_text("precious")
    for target, reason in (
        (path, "cannot be made: File exists"),
        (tmp_path / "no" / "where", "No such file"),
    ):
        with pytest.raises(CommandError, match=reason):
            run("export_keys", str(target), *secret)
    assert path.read_text() == "precious"
    assert not KeyEvent.objects.filter(action="exported").exists()


@pytest.mark.django_db
def test_without_keys_there_is_nothing_to_export(tmp_path: Path, secret: list[str]) -> None:
    with pytest.raises(CommandError, match="There are no signing keys to export"):
        run("export_keys", str(tmp_path / "keys.jwe"), *secret)
    assert not (tmp_path / "keys.jwe").exists()


def test_where_keys_are_already_nothing_is_imported(file: Path, secret: list[str], now: datetime) -> None:
    due_steps.rotate(now=now)
    before = list(SigningKey.objects.values())
    with pytest.raises(CommandError, match="There are signing keys here already"):
        run("import_keys", str(file), *secret)
    assert list(SigningKey.objects.values()) == before


def _without(name: str) -> Any:
    return lambda facts: facts["keys"][0].pop(name)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda facts: facts.update(version=2), "no backup of keys of version 1"),
        (lambda facts: facts.update(keys=[]), "holds no keys"),
        (lambda facts: facts.update(keys="x"), "holds no keys"),
        (lambda facts: facts.update(base_url="https://elsewhere.example"), "of 'https://elsewhere.example'"),
        (lambda facts: facts["keys"].append("x"), "no key of ours"),
        (lambda facts: facts["keys"].append(facts["keys"][0]), "no key of ours"),
        (lambda facts: facts["keys"][0].update(state="lost"), "no key of ours"),
        (lambda facts: facts["keys"][0].update(private_key=""), "no key of ours"),
        (
            lambda facts: facts["keys"][0].update(private_key=facts["authority"]["sealed_root_key"]),
            "no key of ours",
        ),
        (lambda facts: facts["keys"][0].update(chain_pem=facts["authority"]["root_pem"]), "no key of ours"),
        (lambda facts: facts["keys"][0].update(staged_at="yesterday"), "no key of ours"),
        (lambda facts: facts["authority"].update(created_at=7), "no key of ours"),
        *(
            (_without(name), "no key of ours")
            for name in ("id", "state", "public_key", "certified_at", "reason")
        ),
    ],
)
def test_a_document_that_is_not_right_in_everything_changes_nothing(
    keys: bytes, now: datetime, change: Any, reason: str
) -> None:
    facts = json.loads(export(actor="ann", reason="x", now=now))
    lose()
    change(facts)
    with pytest.raises(BackupError, match=reason):
        restore(json.dumps(facts).encode(), actor="ann", reason="x", now=now)
    assert not SigningKey.objects.exists()
    assert not Authority.objects.exists()
    assert not KeyEvent.objects.filter(action="imported").exists()


def test_what_is_locked_by_someone_else_but_no_backup_is_refused(file: Path, secret: list[str]) -> None:
    for content in (b"hello", b"[]", b"[" * 100_000):
        file.write_text(lock(content, PASSPHRASE))
        with pytest.raises(CommandError, match="no backup of keys of version 1. Nothing was changed"):
            run("import_keys", str(file), *secret)


def test_what_jwcrypto_would_open_under_another_algorithm_is_refused() -> None:
    other = jwe.JWE(b"x", json.dumps({"alg": "A256KW", "enc": ENC}))
    other.add_recipient(jwk.JWK(kty="oct", k=base64url.encode(PASSPHRASE.ljust(32, "x").encode()[:32])))
    with pytest.raises(BackupError):
        unlock(other.serialize(compact=True), PASSPHRASE)


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_a_passphrase_typed_at_the_keyboard_is_not_echoed(tmp_path: Path, settings: Any) -> None:
    typed = "typed but too short"
    ours, theirs = pty.openpty()
    words = [sys.executable, "manage.py", "export_keys", str(tmp_path / "keys.jwe"), "--reason", "x"]
    with subprocess.Popen(
        words,
        cwd=ROOT,
        env=environment(settings, tmp_path),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=_own_terminal,
    ) as process:
        os.close(theirs)
        shown = b""
        for answer in (b"Passphrase: ", b"Again: "):
            while not shown.endswith(answer):
                shown += os.read(ours, 1000)
            os.write(ours, typed.encode() + b"\n")
        while chunk := _read(ours):
            shown += chunk
        assert process.wait(20) == 1
    os.close(ours)
    assert b"The passphrase is too short" in shown
    assert typed.encode() not in shown


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_without_a_keyboard_one_sentence_says_what_to_do(tmp_path: Path, settings: Any) -> None:
    words = [sys.executable, "manage.py", "export_keys", str(tmp_path / "keys.jwe"), "--reason", "x"]
    ran = subprocess.run(
        words,
        cwd=ROOT,
        env=environment(settings, tmp_path),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        start_new_session=True,
    )

    assert ran.returncode == 1
    assert ran.stderr.splitlines()[-1].endswith("Without a keyboard use --passphrase-file.")
    assert "Traceback" not in ran.stderr
    assert not (tmp_path / "keys.jwe").exists()


def _own_terminal() -> None:
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1000)
    except OSError:  # Linux raises this when the other side is closed
        return b""


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_several_imports_at_once_one_is_made(now: datetime, at_once: Any) -> None:
    due_steps.rotate(now=now)
    document, before = export(actor="ann", reason="x", now=now), key_set()
    for round_ in range(1, 5):
        lose()
        results = at_once(*[lambda: restore(document, actor="ann", reason="x", now=now)] * 6)
        assert sorted(map(str, results))[0] == "1"
        assert [type(result) for result in results].count(BackupError) == 5
        assert key_set() == before
        assert KeyEvent.objects.filter(action="imported").count() == round_
