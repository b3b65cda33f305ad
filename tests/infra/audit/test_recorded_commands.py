"""Commands that do what operators do are recorded. The others change nothing, or run by themselves."""

from io import StringIO
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command, get_commands, load_command_class

from infra.audit.commands import RecordedCommand
from infra.models import AuditLine
from keys.models import SigningKey

pytestmark = pytest.mark.django_db
APPS = {"presentation", "consent", "wallet", "keys", "infra", "sandbox"}
CHANGE_NOTHING = {"list_signing_keys", "signing_key_csr", "list_relying_parties"}
CHANGE_NOTHING |= {"verify_audit_record", "export_audit_record", "verify_evidence", "doctor"}
CHANGE_NOTHING |= {"sendtestemail"}
RUN_BY_THEMSELVES = {"rotate_signing_keys", "sign_audit_record", "clear_expired", "migrate", "sandbox"}
RUN_BY_THEMSELVES |= {"worker", "sweep_identity_verifications", "record_backup"}
RECORDED_BY_ITSELF = {"reset_second_factor", "accept_audit_gap"}


def lines() -> list[tuple[str, str, Any]]:
    return [(line.action, line.about, line.operator_id) for line in AuditLine.objects.order_by("seq")]


def test_every_other_command_is_recorded() -> None:
    ours = {name: load_command_class(app, name) for name, app in get_commands().items() if app in APPS}

    recorded = {name for name, command in ours.items() if isinstance(command, RecordedCommand)}

    assert ours.keys() - recorded == CHANGE_NOTHING | RUN_BY_THEMSELVES | RECORDED_BY_ITSELF


def test_a_line_has_the_name_of_the_command_the_row_and_the_reason(signing_key: SigningKey) -> None:
    call_command("withdraw_signing_key", reason="Stolen, said olga@example.org", yes=True, stdout=StringIO())

    assert lines() == [("command_run", "withdraw_signing_key --yes", None)]
    assert '"reason":"Stolen, said [address left out]"' in AuditLine.objects.get().text


def test_a_run_that_was_refused_is_there_too_and_names_the_row() -> None:
    kid = str(uuid4())

    with pytest.raises(CommandError):
        call_command("withdraw_signing_key", kid, reason="Stolen", yes=True)

    assert lines() == [("command_run", f"withdraw_signing_key {kid} --yes", None)]


def test_a_line_says_that_the_key_is_one_for_statements(signing_key: SigningKey) -> None:
    with pytest.raises(CommandError, match="No key for statements is staged"):
        call_command("activate_signing_key", "--for", "statements")

    assert lines() == [("command_run", "activate_signing_key --for statements", None)]


def test_a_dry_run_changes_nothing_and_is_no_line(signing_key: SigningKey) -> None:
    call_command("reseal", dry_run=True, stdout=StringIO())

    assert lines() == []


def test_a_new_superuser_is_a_line_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", "a long password, really")

    call_command("createsuperuser", interactive=False, username="olga", email="o@example.org", verbosity=0)

    assert User.objects.get().is_superuser
    assert lines() == [("command_run", "createsuperuser", None)]
    assert "olga" not in AuditLine.objects.get().text
