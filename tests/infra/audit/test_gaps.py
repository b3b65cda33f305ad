"""A gap in the audit record: two operators accept it, signing goes on, and it stays visible for ever."""

import io
import json
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.contrib.auth.models import User
from django.core.management import CommandError
from django.utils import timezone

from infra import audit, second_factors
from infra.audit import gaps
from infra.files import FileError
from infra.models import AuditLine, RecoveryCode, SecondFactor
from tests.infra.audit.days_on_record import run, tamper

pytestmark = pytest.mark.django_db
REASON = "ticket 17: restored to an earlier moment"


def with_codes(name: str, *codes: str) -> User:
    """An operator with these recovery codes."""
    operator = User.objects.create_user(name, is_staff=True)
    factor = SecondFactor.objects.create(
        pk=operator.pk, enrolment="e", used_step=0, set_up_at=timezone.now(), sealed_secret=b"x"
    )
    for code in codes:
        RecoveryCode.objects.create(digest=second_factors._digest(operator, code), factor=factor)
    return operator


@pytest.fixture
def operators() -> tuple[User, User]:
    return with_codes("anna", "aaaa-aaaa-aaaa-bbbb", "aaaa-aaaa-aaaa-cccc"), with_codes(
        "ben", "bbbb-aaaa-aaaa-bbbb", "bbbb-aaaa-aaaa-cccc"
    )


@pytest.fixture
def cut(three_days: None, folder: Path) -> None:
    """The record was signed, and then the database was restored to an earlier moment."""
    run("sign_audit_record")
    tamper("DELETE FROM infra_auditline WHERE seq > 4")


def accept(monkeypatch: pytest.MonkeyPatch, *codes: str, names: tuple[str, str] = ("anna", "ben")) -> str:
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{code}\n" for code in codes)))
    return run("accept_audit_gap", *names, "--reason", REASON)


@pytest.mark.usefixtures("cut", "operators")
def test_after_a_gap_was_accepted_the_record_is_signed_again(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(CommandError, match="its end was cut off"):
        run("sign_audit_record")

    accept(monkeypatch, "aaaa-aaaa-aaaa-bbbb", "bbbb-aaaa-aaaa-bbbb")

    assert "Signed" in run("sign_audit_record")
    audit.record(None, "seen", "wallet.wallet:9")
    run("sign_audit_record")
    said = run("verify_audit_record")
    assert "The audit record has no fault." in said
    assert REASON in said
    assert "its end was cut off" in said


@pytest.mark.usefixtures("cut")
def test_the_record_itself_and_the_folder_say_who_accepted_it_and_keep_what_was_set_aside(
    folder: Path,
    operators: tuple[User, User],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = {path.name: path.read_text() for path in folder.iterdir()}

    accept(monkeypatch, "aaaa-aaaa-aaaa-bbbb", "bbbb-aaaa-aaaa-bbbb")

    lines = AuditLine.objects.filter(action="audit_gap_accepted").order_by("seq")
    assert [line.operator_id for line in lines] == [operator.pk for operator in operators]
    gap = json.loads(json.loads((folder / "gap-0001.json").read_text())["gap"])
    assert gap["operators"] == [operator.pk for operator in operators]
    assert gap["reason"] == REASON
    run("sign_audit_record")
    kept = {path.name for place in (folder, folder / "gap-0001") for path in place.glob("audit-*")}
    moved = {path.name for path in (folder / "gap-0001").iterdir()}
    assert moved
    assert {name: before[name] for name in moved} == {
        name: (folder / "gap-0001" / name).read_text() for name in moved
    }
    assert before.keys() <= kept


@pytest.mark.usefixtures("cut", "operators")
@pytest.mark.parametrize(
    ("codes", "names", "why"),
    [
        (("aaaa-aaaa-aaaa-bbbb", "wrong-code"), ("anna", "ben"), "no code of ben"),
        (("aaaa-aaaa-aaaa-bbbb",), ("anna", "ben"), "no code of ben"),
        (("aaaa-aaaa-aaaa-bbbb", "aaaa-aaaa-aaaa-cccc"), ("anna", "anna"), "two operators"),
        (("aaaa-aaaa-aaaa-bbbb", "aaaa-aaaa-aaaa-bbbb"), ("anna", "ben"), "no code of ben"),
        (("aaaa-aaaa-aaaa-bbbb", "bbbb-aaaa-aaaa-bbbb"), ("anna", "carl"), "no active operator carl"),
    ],
)
def test_it_takes_two_operators_with_a_code_each(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    codes: tuple[str, ...],
    names: tuple[str, str],
    why: str,
) -> None:
    with pytest.raises(CommandError, match=why):
        accept(monkeypatch, *codes, names=names)
    assert not list(folder.glob("gap-*"))


@pytest.mark.usefixtures("three_days", "folder", "operators")
def test_a_record_without_a_fault_has_nothing_to_accept(monkeypatch: pytest.MonkeyPatch) -> None:
    run("sign_audit_record")
    with pytest.raises(CommandError, match="has no fault"):
        accept(monkeypatch, "aaaa-aaaa-aaaa-bbbb", "bbbb-aaaa-aaaa-bbbb")


@pytest.mark.usefixtures("cut", "operators")
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE infra_auditline SET about = 'x' WHERE seq = 2",
        "DELETE FROM infra_auditline WHERE seq = 3",
        "DELETE FROM infra_auditline WHERE seq = 1",
        "UPDATE infra_auditline SET text = 'x' WHERE seq = 7",
        "DELETE FROM infra_auditline WHERE seq > 6",
    ],
)
def test_what_is_changed_after_a_gap_was_accepted_is_found(
    monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    accept(monkeypatch, "aaaa-aaaa-aaaa-bbbb", "bbbb-aaaa-aaaa-bbbb")
    audit.record(None, "seen", "wallet.wallet:9")
    run("sign_audit_record")
    tamper(statement)
    with pytest.raises(CommandError, match="is not signed"):
        run("sign_audit_record")
    with pytest.raises(CommandError, match="not as it was written"):
        run("verify_audit_record")


@pytest.mark.usefixtures("cut", "operators")
def test_there_may_be_a_second_gap(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    accept(monkeypatch, "aaaa-aaaa-aaaa-bbbb", "bbbb-aaaa-aaaa-bbbb")
    audit.record(None, "seen", "wallet.wallet:9")
    run("sign_audit_record")
    tamper("UPDATE infra_auditline SET about = 'x' WHERE seq = 2")
    accept(monkeypatch, "aaaa-aaaa-aaaa-cccc", "bbbb-aaaa-aaaa-cccc")
    run("sign_audit_record")
    said = run("verify_audit_record")
    assert "Gap 1" in said
    assert "Gap 2" in said


@pytest.mark.usefixtures("cut", "operators")
def test_the_file_of_a_gap_can_be_neither_changed_nor_removed(
    folder: Path,
    key: Ed25519PrivateKey,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    accept(monkeypatch, "aaaa-aaaa-aaaa-bbbb", "bbbb-aaaa-aaaa-bbbb")
    run("sign_audit_record")
    file = folder / "gap-0001.json"
    text = file.read_text()
    file.write_text(text.replace("restored", "annulled"))
    with pytest.raises(FileError, match="not signed with the audit key"):
        gaps.read(folder, key.public_key())
    file.unlink()
    with pytest.raises(CommandError, match="is not signed"):
        run("sign_audit_record")


@pytest.mark.usefixtures("operators")
def test_a_gap_that_was_signed_and_whose_files_were_not_moved_yet_is_not_lost(
    cut: None,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The process may end between the two."""
    with monkeypatch.context() as ended:
        ended.setattr(gaps, "move_aside", lambda *_: None)
        accept(monkeypatch, "aaaa-aaaa-aaaa-bbbb", "bbbb-aaaa-aaaa-bbbb")
    before = {path.name: path.read_text() for path in folder.glob("audit-*")}
    run("sign_audit_record")
    for path in (folder / "gap-0001").iterdir():
        assert path.read_text() == before[path.name]
    assert timezone.now() - AuditLine.objects.latest("seq").at < timedelta(hours=1)
