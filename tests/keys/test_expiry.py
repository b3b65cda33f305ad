"""Operators are warned of certificates that end soon, everywhere they look."""

from datetime import datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.checks import WARNING
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from infra.moments import moment
from keys.certificates.watch import WARN_BEFORE, certificates_in_use, ending_certificates, endings, stage_of
from keys.checks import certificates
from keys.models import SigningKey
from keys.rotation import due_steps, transitions
from keys.rotation.states import State, in_state
from tests.keys.admin_pages import operator
from tests.keys.certificates import NOW, issuing, leaf, make, root
from tests.keys.chains import chain_for

DAY, SECOND = timedelta(days=1), timedelta(seconds=1)


@pytest.mark.parametrize(
    ("left", "stage"),
    [
        (60 * DAY + SECOND, None),
        (60 * DAY, 60),
        (30 * DAY + SECOND, 60),
        (30 * DAY, 30),
        (14 * DAY + SECOND, 30),
        (14 * DAY, 14),
        (7 * DAY + SECOND, 14),
        (7 * DAY, 7),
        (SECOND, 7),
        (timedelta(0), 0),
        (-DAY, 0),
    ],
)
def test_a_stage_begins_on_its_day_to_the_second(left: timedelta, stage: int | None) -> None:
    assert stage_of(left) == stage


@given(st.integers(-100 * 86_400, 100 * 86_400))
def test_less_time_is_never_less_urgent(seconds: int) -> None:
    now_, later = stage_of(seconds * SECOND), stage_of((seconds - 3600) * SECOND)
    assert (later if later is not None else 99) <= (now_ if now_ is not None else 99)
    assert now_ in (None, 0, *WARN_BEFORE)


def test_leaf_issuing_ca_and_root_are_watched_and_a_shared_root_is_reported_once() -> None:
    top = root(ends=NOW + 20 * DAY)
    middle = issuing(top, ends=NOW + 6 * DAY)
    first, second = leaf(middle, ends=NOW - DAY), leaf(middle, ends=NOW + 61 * DAY)
    chains = [
        (name, [m.certificate for m in (one, middle, top)]) for name, one in (("a", first), ("b", second))
    ]
    found = endings(chains, now=NOW)
    assert [(e.name, e.stage, e.days, e.holders) for e in found] == [
        ("CN=wallet.example", 0, 0, ("a",)),
        ("CN=Issuing CA", 7, 6, ("a", "b")),
        ("CN=Root", 30, 20, ("a", "b")),
    ]
    assert [e.urgent for e in found] == [True, True, False]
    assert (
        str(found[0]) == "The certificate “CN=wallet.example” ended on 19 Nov 2026, 12:00 UTC. In use by: a."
    )
    assert "ends in 6 days, on 26 Nov 2026, 12:00 UTC. In use by: a, b." in str(found[1])


def test_one_day_is_said_as_one_day() -> None:
    found = endings([("a", [make("x", ends=NOW + DAY).certificate])], now=NOW)
    assert "ends in 1 day, on" in str(found[0])


@pytest.fixture
def ending(db: None, settings: Any) -> SigningKey:
    """A key whose leaf, from a real authority, ends in ten days."""
    settings.SELF_CERTIFYING_AUTHORITY = False
    now = timezone.now()
    key = transitions.stage(now=now)
    transitions.certify(key.pk, chain_for(key, now, ends=now + 10 * DAY), now=now)
    due_steps.rotate(now=now)
    return key


def run(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out, stderr=out)
    return out.getvalue()


@pytest.mark.django_db
def test_the_keys_that_sign_or_are_next_are_watched_and_the_retired_are_not(now: datetime) -> None:
    due_steps.rotate(now=now - 3 * DAY)
    transitions.activate(transitions.stage(now=now - 2 * DAY).pk, now=now - DAY)
    staged = transitions.stage(now=now)
    names = [name for name, _ in certificates_in_use()]
    assert set(names) == {str(in_state(State.ACTIVE)), str(staged), "the sandbox’s authority"}
    assert ending_certificates(now=now) == []
    assert {e.stage for e in ending_certificates(now=now + 25 * 365 * DAY)} == {0}


def test_the_hourly_command_says_it_and_logs_it(ending: SigningKey) -> None:
    with capture_logs() as events:
        printed = run("rotate_signing_keys")
    assert f"ends in 9 days, on {moment(timezone.now() + 10 * DAY).split(',')[0]}" in printed
    [event] = [e for e in events if e["event"] == "certificate_ends"]
    assert (event["log_level"], event["stage"], event["days"]) == ("error", 14, 9)
    assert event["keys"] == [str(ending)]


@pytest.mark.django_db
def test_what_ends_in_years_is_not_reported() -> None:
    with capture_logs() as events:
        assert "ends in" not in run("rotate_signing_keys")
    assert [e for e in events if e["event"] == "certificate_ends"] == []
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    assert "messagelist" not in client.get("/admin/keys/signingkey/").content.decode()


def test_every_page_of_the_admin_has_a_banner_for_who_may_see_keys(ending: SigningKey) -> None:
    auditor = operator("auditor", "view_signingkey", "change_signingkey")
    of_keys = [
        f"keys/signingkey/{page}" for page in ("", f"{ending.pk}/change/", f"{ending.pk}/do/withdraw/")
    ]
    for page in ("", *of_keys, "keys/signingkey/do/rotate/", "keys/keyevent/", "password_change/"):
        text = auditor.get(f"/admin/{page}").content.decode()
        assert '<li class="error">The certificate “CN=wallet.example” ends in 9 days' in text, page


def test_other_people_see_no_warning(ending: SigningKey) -> None:
    for client in (operator("without permissions"), Client()):
        for page in ("", "login/", "password_change/"):
            assert "ends in 9 days" not in client.get(f"/admin/{page}", follow=True).content.decode()


def test_the_check_before_deployment_warns(ending: SigningKey) -> None:
    assert "ends in 9 days" in run("check", "--deploy", "--tag", "security")
    assert "(keys.I003)" in run("check", "--deploy", "--tag", "security")
    assert "keys.I003" not in run("check", "--tag", "security")


def test_the_check_tells_of_a_certificate_that_has_ended_and_lets_the_service_start(
    ending: SigningKey, now: datetime
) -> None:
    past = now - 20 * DAY
    chain = chain_for(ending, past, ends=past + DAY)
    SigningKey.objects.filter(pk=ending.pk).update(chain_pem=chain, certified_at=past)
    messages = run("check", "--deploy", "--tag", "security", "--fail-level", "ERROR")
    assert "(keys.I004) The certificate “CN=wallet.example” ended on " in messages


def test_the_warning_of_certificates_is_below_the_level_that_stops_a_start(ending: SigningKey) -> None:
    messages = certificates(None)
    assert [message.id for message in messages] == ["keys.I003"]
    assert not any(message.is_serious(WARNING) for message in messages)


@pytest.mark.django_db(transaction=True)
def test_the_check_before_deployment_does_without_a_database(settings: Any) -> None:
    from django.db import connection

    with connection.schema_editor() as schema:
        schema.alter_db_table(SigningKey, "keys_signingkey", "keys_away")
    try:
        assert "(keys.I001)" in run("check", "--deploy", "--tag", "security")
    finally:
        with connection.schema_editor() as schema:
            schema.alter_db_table(SigningKey, "keys_away", "keys_signingkey")
