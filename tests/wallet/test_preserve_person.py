"""What a court orders to be preserved is written whole, once, for nobody else's eyes, and recorded."""

import json
from hashlib import sha256
from io import StringIO
from pathlib import Path
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command

from infra.models import AuditLine
from wallet.models import Wallet

pytestmark = pytest.mark.usefixtures("signing_key")


def preserve(file: Path, wallet: object, reason: str = "order 7/2026") -> str:
    out = StringIO()
    words = ["--wallet", str(wallet), "--file", str(file), "--reason", reason]
    call_command("preserve_person", *words, stdout=out)
    return out.getvalue()


def test_the_file_is_whole_and_nobody_else_can_read_it(tmp_path: Path, alice: Wallet, bob: Wallet) -> None:
    file = tmp_path / "preserved.json"

    said = preserve(file, alice.pk)

    kept = json.loads(file.read_text())
    assert kept["complete"] is True
    assert alice.email in file.read_text()
    assert "Archer" in file.read_text()
    assert bob.email not in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    assert sha256(file.read_bytes()).hexdigest() in said


def test_the_record_names_the_wallet_and_the_order(tmp_path: Path, alice: Wallet) -> None:
    preserve(tmp_path / "preserved.json", alice.pk)
    line = AuditLine.objects.latest("seq")
    assert line.about == f"preserve_person --wallet {alice.pk}"
    assert "order 7/2026" in line.text
    assert alice.email not in line.text


def test_an_older_file_is_not_overwritten(tmp_path: Path, alice: Wallet) -> None:
    file = tmp_path / "preserved.json"
    file.write_text("earlier")
    with pytest.raises(CommandError, match="File exists"):
        preserve(file, alice.pk)
    assert file.read_text() == "earlier"


def test_a_wallet_that_is_not_there_makes_no_file(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="no such wallet"):
        preserve(tmp_path / "preserved.json", uuid4())
    assert not (tmp_path / "preserved.json").exists()


def test_an_order_has_a_number(tmp_path: Path, alice: Wallet) -> None:
    with pytest.raises(CommandError, match="number of the order"):
        preserve(tmp_path / "preserved.json", alice.pk, reason=" ")
