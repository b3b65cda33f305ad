"""Every operation on keys adds a key event with the actor and the reason."""

from datetime import datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.management import call_command
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from infra.database.append_only import AppendOnlyError
from keys.models import KeyEvent, SigningKey
from keys.rotation import due_steps, transitions
from keys.rotation.key_events import Action, record, shell_user
from keys.rotation.states import RotationRefusedError, State, in_state
from tests.keys.chains import chain_for

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


def recorded() -> list[tuple[str, str, str]]:
    """Action, actor and reason of every row, the oldest first."""
    return list(KeyEvent.objects.order_by("id").values_list("action", "actor", "reason"))


def test_every_step_of_a_keys_life_is_recorded(now: datetime, settings: Any) -> None:
    settings.SELF_CERTIFYING_AUTHORITY = False
    first = transitions.stage(now=now, actor="ann", reason="the first")
    transitions.certify(first.pk, chain_for(first, now), now=now, actor="ben", reason="from Example CA")
    transitions.activate(first.pk, now=now, actor="cid", reason="we open")
    second = transitions.stage(now=now, actor="ann")
    transitions.certify(second.pk, chain_for(second, now), now=now, actor="ben", reason="  again\n ")
    transitions.withdraw(first.pk, reason="stolen", now=now, actor="dot")
    assert recorded() == [
        ("staged", "ann", "the first"),
        ("certified", "ben", "from Example CA"),
        ("activated", "cid", "we open"),
        ("staged", "ann", "No reason was given."),
        ("certified", "ben", "again"),
        ("withdrawn", "dot", "stolen"),
        ("activated", "dot", "stolen"),
    ]
    kids = list(KeyEvent.objects.order_by("id").values_list("kid", flat=True))
    assert kids == [first.pk, first.pk, first.pk, second.pk, second.pk, first.pk, second.pk]
    assert set(KeyEvent.objects.values_list("at", flat=True)) == {now}


def test_steps_of_the_schedule_are_recorded_as_due(now: datetime) -> None:
    due_steps.rotate(now=now, actor="timer")
    due_steps.rotate(now=now + 88 * DAY, actor="timer")
    due_steps.rotate(now=now + 90 * DAY, actor="timer")
    due_steps.rotate(now=now + 92 * DAY, actor="timer")
    assert [action for action, _, _ in recorded()] == [
        *("staged", "certified", "activated", "staged", "certified"),
        *("retired", "activated", "withdrawn"),
    ]
    assert {actor for _, actor, _ in recorded()} == {"timer"}
    assert {reason for _, _, reason in recorded()} == {
        *("It was due.", "By the sandbox’s authority.", "The last token it signed has ended.")
    }


def test_a_refused_step_adds_no_event(now: datetime) -> None:
    due_steps.rotate(now=now)
    staged = transitions.stage(now=now)
    before = recorded()
    for attempt in (
        lambda: transitions.stage(now=now),
        lambda: transitions.activate(staged.pk, now=now),
        lambda: transitions.withdraw(staged.pk, reason=" ", now=now),
    ):
        with pytest.raises(RotationRefusedError):
            attempt()
    transitions.activate(str(in_state(State.ACTIVE)), now=now)  # it is active already
    assert recorded() == before


def test_a_deed_that_is_rolled_back_takes_its_row_with_it(now: datetime) -> None:
    with transaction.atomic():
        transitions.stage(now=now)
        assert recorded()
        transaction.set_rollback(True)
    assert recorded() == []
    assert not SigningKey.objects.exists()


def test_the_record_is_written_once(now: datetime) -> None:
    row = record(Action.STAGED, None, actor="ann", reason="x", now=now)
    row.reason = "y"
    with pytest.raises(AppendOnlyError):
        row.save()
    with pytest.raises(AppendOnlyError):
        row.delete()
    assert recorded() == [("staged", "ann", "x")]


@pytest.mark.parametrize("wrong", [{"actor": ""}, {"reason": ""}, {"action": "lost"}])
def test_a_row_that_says_nothing_cannot_be(wrong: dict[str, str], now: datetime) -> None:
    facts = {"action": "staged", "actor": "ann", "reason": "x", **wrong}
    with pytest.raises(IntegrityError), transaction.atomic():
        KeyEvent.objects.create(at=now, **facts)


def test_long_words_are_cut_to_what_the_row_holds(now: datetime) -> None:
    row = record(Action.STAGED, None, actor="a" * 400, reason="r" * 400, now=now)
    assert (len(row.actor), len(row.reason)) == (150, 200)


def test_the_shell_says_who_and_why() -> None:
    call_command("rotate_signing_keys", stdout=StringIO())
    call_command("stage_signing_key", "--reason", "before the audit", stdout=StringIO())
    assert ("staged", shell_user(), "before the audit") in recorded()
    assert {actor for _, actor, _ in recorded()} == {shell_user()}
    assert shell_user().endswith(" at the shell")


def test_sudo_is_seen_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_USER", "ann")
    assert "(sudo by ann) at the shell" in shell_user()


def reader(*permissions: str) -> Client:
    user = User.objects.create_user("reader", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


def test_the_admin_records_the_operator_and_shows_the_record_to_be_read_only() -> None:
    client = reader("view_signingkey", "change_signingkey")
    due_steps.rotate(now=timezone.now())
    client.post("/admin/keys/signingkey/do/stage/", {"reason": "the yearly drill"})
    assert ("staged", "reader", "the yearly drill") in recorded()
    text = client.get("/admin/keys/keyevent/").content.decode()
    assert "the yearly drill" in text
    assert "reader" in text
    row = KeyEvent.objects.get(reason="the yearly drill")
    assert "the yearly drill" in client.get(f"/admin/keys/keyevent/{row.pk}/change/").content.decode()
    assert client.post(f"/admin/keys/keyevent/{row.pk}/change/", {"reason": "x"}).status_code == 403
    assert client.post(f"/admin/keys/keyevent/{row.pk}/delete/", {"post": "yes"}).status_code == 403
    assert client.get("/admin/keys/keyevent/add/").status_code == 403
    assert client.get("/admin/keys/keyevent/?q=drill").status_code == 200


def test_who_may_not_see_keys_sees_no_record() -> None:
    assert reader("view_authority").get("/admin/keys/keyevent/").status_code == 403
