"""The commands of the audit record: days are signed, tampering is found, exports need SHA-256 alone."""

import json
from base64 import b64decode
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.utils import timezone

from infra import audit, runs
from infra.audit import verification
from infra.models import AuditLine, LastRun
from tests.infra.audit.days_on_record import NOON, run, tamper

pytestmark = pytest.mark.django_db


def signed(folder: Path) -> dict[str, int]:
    read = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    return {values["day"]: values["seq"] for values in read}


@pytest.mark.usefixtures("three_days")
def test_the_last_line_of_each_day_is_signed_and_the_lines_of_the_day_are_beside_it(folder: Path) -> None:
    said = run("sign_audit_record")

    assert signed(folder) == {"2026-11-20": 2, "2026-11-21": 5, "2026-11-22": 6}
    assert "Signed 2026-11-21: line 5." in said
    texts = [text for path in sorted(folder.glob("*.jsonl")) for text in path.read_text().splitlines()]
    assert [json.loads(text)["seq"] for text in texts] == [1, 2, 3, 4, 5, 6]
    for before, text in zip(texts, texts[1:], strict=False):
        assert json.loads(text)["previous"] == sha256(before.encode()).hexdigest()
    assert run("sign_audit_record").count("Signed") == 1  # the newest day may still grow


@pytest.mark.usefixtures("three_days")
def test_the_head_of_a_day_moves_until_the_day_is_over(
    folder: Path, key: Ed25519PrivateKey, olga: User
) -> None:
    verification.sign_days(folder, key, now=NOON + timedelta(hours=48))
    audit.record(olga, "seen", now=NOON + timedelta(hours=49))
    audit.record(olga, "seen", now=NOON + timedelta(hours=72))
    verification.sign_days(folder, key, now=NOON + timedelta(hours=72))

    assert signed(folder) == {"2026-11-20": 2, "2026-11-21": 5, "2026-11-22": 7, "2026-11-23": 8}
    assert "has no fault. Lines: 8." in run("verify_audit_record")


@pytest.mark.usefixtures("folder")
def test_an_empty_record_is_neither_signed_nor_faulty() -> None:
    assert run("sign_audit_record") == ""
    assert "There is no signed head" in run("verify_audit_record")


@pytest.mark.parametrize(
    ("statement", "line"),
    [
        ("UPDATE infra_auditline SET operator_id = 99 WHERE seq = 2", 2),
        ("UPDATE infra_auditline SET text = replace(text, 'wallet:1', 'wallet:7') WHERE seq = 2", 2),
        ("DELETE FROM infra_auditline WHERE seq = 3", 3),
        ("DELETE FROM infra_auditline WHERE seq > 4", 5),
        ("DELETE FROM infra_auditline", 2),
        (
            "INSERT INTO infra_auditline (seq, text, hash, at, operator_id, action, about) "
            "SELECT 7, text, hash, at, operator_id, action, about FROM infra_auditline WHERE seq = 6",
            7,
        ),
    ],
    ids=["column", "text", "removed", "cut", "emptied", "inserted"],
)
@pytest.mark.usefixtures("three_days")
def test_tampering_is_found_and_its_line_is_named(folder: Path, statement: str, line: int) -> None:
    run("sign_audit_record")
    tamper(statement)
    said = StringIO()

    with pytest.raises(CommandError, match="not as it was written"):
        call_command("verify_audit_record", stdout=said)

    assert f"line {line}: " in said.getvalue()


@pytest.mark.usefixtures("three_days")
def test_a_record_with_a_fault_is_not_signed(folder: Path) -> None:
    run("sign_audit_record")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    tamper("DELETE FROM infra_auditline WHERE seq = 6")

    with pytest.raises(CommandError, match="is not signed: line 6: "):
        run("sign_audit_record")

    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.usefixtures("three_days")
def test_a_record_that_was_written_anew_after_it_was_signed_is_not_signed_again(
    folder: Path, olga: User
) -> None:
    run("sign_audit_record")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    tamper("DELETE FROM infra_auditline")
    for hours in range(7):  # a chain without a fault, with a line in place of each
        audit.record(olga, "seen", "wallet.wallet:0", now=NOON + timedelta(hours=8 * hours))

    with pytest.raises(CommandError, match="is not signed: line 2: "):
        run("sign_audit_record")

    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.usefixtures("three_days")
def test_the_signature_says_what_it_is_for(folder: Path, key: Ed25519PrivateKey) -> None:
    run("sign_audit_record")
    values = json.loads((folder / "audit-2026-11-21.json").read_text())

    key.public_key().verify(
        b64decode(values["signature"]), f"audit-head\n2026-11-21\n5\n{values['hash']}\n".encode()
    )


@pytest.mark.usefixtures("three_days")
def test_a_fault_before_the_last_signed_line_is_found_by_the_hourly_command(folder: Path) -> None:
    run("sign_audit_record")
    tamper("UPDATE infra_auditline SET operator_id = 99 WHERE seq = 2")

    with pytest.raises(CommandError, match="is not signed: line 2: changed"):
        run("sign_audit_record")

    assert runs.failures()[runs.AUDIT_RECORD] == 1


@pytest.mark.usefixtures("three_days")
def test_without_a_folder_the_record_is_verified_all_the_same() -> None:
    tamper("DELETE FROM infra_auditline WHERE seq = 3")

    with pytest.raises(CommandError, match="line 3: removed"):
        run("sign_audit_record")

    assert runs.failures()[runs.AUDIT_RECORD] > 0


@pytest.mark.usefixtures("three_days")
def test_an_auditors_check_writes_nothing(folder: Path) -> None:
    run("sign_audit_record")
    before = list(LastRun.objects.values())
    tamper("DELETE FROM infra_auditline WHERE seq = 3")

    with pytest.raises(CommandError):
        run("verify_audit_record")

    assert list(LastRun.objects.values()) == before


def _other_signature(path: Path) -> None:
    values = json.loads(path.read_text())
    path.write_text(json.dumps(values | {"seq": values["seq"] - 1}))


@pytest.mark.parametrize(
    ("forge", "why"),
    [
        (_other_signature, "not signed with the audit key"),
        (lambda path: path.write_text("{}"), "not a signed head"),
        (lambda path: path.write_text("\udcff", errors="surrogateescape"), "not a signed head"),
        (lambda path: path.rename(path.with_name("audit-2026-11-01.json")), "is the head of 2026-11-20"),
    ],
    ids=["number", "empty", "garbage", "renamed"],
)
@pytest.mark.usefixtures("three_days")
def test_a_forged_head_is_refused(folder: Path, forge: Callable[[Path], Any], why: str) -> None:
    run("sign_audit_record")
    forge(folder / "audit-2026-11-20.json")

    with pytest.raises(CommandError, match=why):
        run("verify_audit_record")


@pytest.mark.usefixtures("three_days")
def test_an_auditor_needs_the_public_key_only(
    folder: Path, key: Ed25519PrivateKey, tmp_path: Path, settings: Any
) -> None:
    run("sign_audit_record")
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "public.pem").write_bytes(public)
    settings.AUDIT_FOLDER = settings.AUDIT_KEY_FILE = ""

    said = run("verify_audit_record", folder=str(folder), public_key=str(tmp_path / "public.pem"))

    assert "no fault" in said
    assert "The newest signed head is of 2026-11-22, line 6." in said
    with pytest.raises(CommandError, match="AUDIT_KEY_FILE or --public-key"):
        run("verify_audit_record", folder=str(folder))


@pytest.mark.usefixtures("three_days")
@pytest.mark.parametrize("kind", ["missing", "rsa", "public", "text"])
def test_an_unusable_key_is_said_in_a_sentence(
    folder: Path, tmp_path: Path, settings: Any, kind: str
) -> None:
    path = tmp_path / "other.pem"
    if kind == "rsa":
        rsa = generate_private_key(public_exponent=65537, key_size=2048)
        path.write_bytes(rsa.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    elif kind != "missing":
        path.write_text("-----BEGIN PUBLIC KEY-----" if kind == "public" else "secret")
    settings.AUDIT_KEY_FILE = str(path)

    with pytest.raises(CommandError, match=r"The audit record is not signed: .*other\.pem"):
        run("sign_audit_record")


@pytest.mark.usefixtures("three_days")
def test_the_export_is_the_hashed_text_line_by_line() -> None:
    exported = run("export_audit_record").splitlines()

    assert [sha256(text.encode()).hexdigest() for text in exported] == list(
        AuditLine.objects.order_by("seq").values_list("hash", flat=True)
    )
    assert run("export_audit_record", after=4).splitlines() == exported[4:]


def test_without_a_folder_nothing_is_signed() -> None:
    assert "nothing is signed" in run("sign_audit_record")


def test_times_near_midnight_belong_to_the_day_whatever_the_order_of_the_clocks(
    folder: Path, key: Ed25519PrivateKey, olga: User
) -> None:
    midnight = datetime(2026, 11, 21, tzinfo=UTC)
    for seconds in (-2, 0, -1, 2):  # two machines whose clocks differ
        audit.record(olga, "seen", now=midnight + timedelta(seconds=seconds))

    verification.sign_days(folder, key, now=timezone.now())

    assert signed(folder) == {"2026-11-20": 1, "2026-11-21": 4}
    assert "no fault" in run("verify_audit_record")
