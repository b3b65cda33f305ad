"""Keys for statements live like the keys for credentials, and are never taken for them."""

import json
from datetime import datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client, RequestFactory
from django.utils import timezone

from keys import endpoints, key_set
from keys.certificates.watch import certificates_in_use
from keys.checks import spare_key
from keys.issuer_key import NoSigningKeyError, active_issuer_key, statement_key
from keys.metrics import key_metrics
from keys.models import Authority, KeyEvent, SigningKey, StatementKey
from keys.private_keys.backup import export, restore
from keys.rotation import due_steps, transitions
from keys.rotation.states import PUBLISHED_AFTER_SIGNING, STATEMENTS_KEPT, State, find, in_state
from keys.rotation.withdrawal import cost_of_withdrawal, stops_signing
from keys.sealed_columns import sealed_columns
from tests.keys.admin_pages import operator

pytestmark = pytest.mark.django_db
SETS = {SigningKey: endpoints.jwks, StatementKey: endpoints.statement_jwks}
BOTH = (SigningKey, StatementKey)
DAY = timedelta(days=1)


def published(kind: Any) -> set[str]:
    document = SETS[kind]
    document.refresh()
    return {key["kid"] for key in json.loads(document(RequestFactory().get("/")).content)["keys"]}


def published_document(kind: Any) -> bytes:
    return endpoints.key_set() if kind is SigningKey else endpoints.statement_key_set()


@pytest.fixture
def now() -> datetime:
    return timezone.now()


@pytest.fixture
def both(now: datetime) -> dict[Any, dict[str, str]]:
    """Of each kind a retired, an active and a staged key."""
    for kind in BOTH:
        due_steps.rotate(now=now - 3 * DAY, kind=kind)
        transitions.activate(transitions.stage(now=now - 2 * DAY, kind=kind).pk, now=now - DAY)
        transitions.stage(now=now - timedelta(hours=4), kind=kind)
    return {kind: {key.state: str(key) for key in kind.objects.all()} for kind in BOTH}


def test_no_key_is_in_the_key_set_of_the_other_kind(both: dict[Any, dict[str, str]]) -> None:
    for kind in BOTH:
        assert published(kind) == set(both[kind].values())
    assert not published(SigningKey) & published(StatementKey)
    for kid in both[StatementKey].values():
        assert key_set.find(kid) is None


def test_no_key_signs_what_the_other_kind_signs(both: dict[Any, dict[str, str]], now: datetime) -> None:
    assert active_issuer_key(now=now).kid == both[SigningKey]["active"]
    assert statement_key(now=now).kid == both[StatementKey]["active"]


def test_without_a_key_of_its_own_kind_nothing_is_signed(now: datetime) -> None:
    due_steps.rotate(now=now, kind=StatementKey)
    with pytest.raises(NoSigningKeyError):
        active_issuer_key(now=now, fresh=True)
    StatementKey.objects.all().delete()
    due_steps.rotate(now=now)
    with pytest.raises(NoSigningKeyError):
        statement_key(now=now)


def test_a_key_for_statements_stays_published_for_seven_years_after_it_retired(now: datetime) -> None:
    due_steps.rotate(now=now, kind=StatementKey)
    first = str(in_state(State.ACTIVE, StatementKey))
    retired_at = now + 3 * DAY
    transitions.activate(transitions.stage(now=now, kind=StatementKey).pk, now=retired_at)
    assert find(first).sealed_private_key == b""

    for ahead in (PUBLISHED_AFTER_SIGNING + DAY, 7 * 365 * DAY):
        due_steps.rotate(now=retired_at + ahead, kind=StatementKey)
        assert first in published(StatementKey)

    due_steps.rotate(now=retired_at + STATEMENTS_KEPT, kind=StatementKey)
    assert first not in published(StatementKey)


def test_the_steps_of_one_kind_move_no_key_of_the_other(
    both: dict[Any, dict[str, str]], now: datetime
) -> None:
    before = list(SigningKey.objects.order_by("pk").values_list("pk", "state"))

    due_steps.rotate(now=now + 200 * DAY, kind=StatementKey)
    transitions.withdraw(in_state(State.ACTIVE, StatementKey).pk, reason="a drill", now=now + 201 * DAY)  # type: ignore[union-attr]

    assert list(SigningKey.objects.order_by("pk").values_list("pk", "state")) == before
    assert str(in_state(State.ACTIVE, StatementKey)) not in both[SigningKey].values()


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_instances_that_rotate_at_once_make_one_key_for_statements(at_once: Any, now: datetime) -> None:
    at_once(*[lambda: due_steps.rotate(now=now, kind=StatementKey)] * 4)

    assert [key.state for key in StatementKey.objects.all()] == ["active"]
    assert not SigningKey.objects.exists()


def test_the_withdrawal_of_one_says_what_it_costs_and_stops_nothing(
    both: dict[Any, dict[str, str]], now: datetime, settings: Any
) -> None:
    settings.SELF_CERTIFYING_AUTHORITY = False
    active = find(both[StatementKey]["active"])
    StatementKey.objects.filter(state=State.STAGED).delete()

    assert not stops_signing(active, now=now)
    assert "counts as genuine any more" in cost_of_withdrawal(active, now=now)


def test_a_backup_has_both_kinds_each_for_itself(
    both: dict[Any, dict[str, str]], now: datetime, settings: Any
) -> None:
    before = {kind: published_document(kind) for kind in BOTH}
    facts = json.loads(export(actor="tests", reason="tests", now=now))
    # A version that knows only `keys` takes none of the others for keys that sign credentials.
    assert {key["id"] for key in facts["keys"]} == set(both[SigningKey].values())
    assert {key["id"] for key in facts["statement_keys"]} == set(both[StatementKey].values())
    for model in (*BOTH, Authority):
        model.objects.all().delete()
    settings.KEY_SEALING_KEYS = ["the sealing keys were lost with the database"]

    assert restore(json.dumps(facts).encode(), actor="tests", reason="tests", now=now) == 6

    assert {kind: published_document(kind) for kind in BOTH} == before
    assert statement_key(now=now).signer.sign(b"message")


def test_a_backup_of_an_earlier_version_has_no_keys_for_statements(now: datetime) -> None:
    due_steps.rotate(now=now)
    facts = json.loads(export(actor="tests", reason="tests", now=now))
    del facts["statement_keys"]
    for model in (SigningKey, Authority):
        model.objects.all().delete()

    assert restore(json.dumps(facts).encode(), actor="tests", reason="tests", now=now) == 1


def test_they_are_sealed_and_sealed_anew_as_the_others(both: Any, settings: Any) -> None:
    (column,) = (one for one in sealed_columns() if one.model is StatementKey)
    settings.KEY_SEALING_KEYS = ["a new sealing key of 32 characters", *settings.KEY_SEALING_KEYS]
    assert column.waiting().count() == 2

    call_command("reseal", stdout=StringIO())

    assert column.waiting().count() == 0
    settings.KEY_SEALING_KEYS = settings.KEY_SEALING_KEYS[:1]
    assert statement_key(now=timezone.now()).signer.sign(b"message")


def metrics(name: str, label: str) -> dict[str, float]:
    (family,) = (family for family in key_metrics() if family.name == name)
    return {sample.labels[label]: sample.value for sample in family.samples}


def test_the_metrics_and_the_warnings_include_their_certificates_and_steps(both: Any, settings: Any) -> None:
    holders = {holder for holder, _certificates in certificates_in_use()}
    kids = metrics("signing_key_certificate_ends_seconds", "kid")
    for kind in BOTH:
        signing = {both[kind]["active"], both[kind]["staged"]}
        assert signing <= holders
        assert signing <= kids.keys()
    assert metrics("signing_keys", "state")["active"] == 1, "those that sign credentials"

    settings.SELF_CERTIFYING_AUTHORITY = False
    assert "certify" not in metrics("signing_key_next_step_seconds", "step")
    StatementKey.objects.filter(state=State.STAGED).update(chain_pem="", certified_at=None)
    assert metrics("signing_key_next_step_seconds", "step")["certify"] < 0


def test_a_spare_is_wanted_of_each_kind_in_use(now: datetime, settings: Any) -> None:
    settings.SIGNING_KEY_SPARE = True
    due_steps.rotate(now=now)
    assert spare_key(None) == []
    due_steps.rotate(now=now, kind=StatementKey)
    StatementKey.objects.filter(state=State.STAGED).delete()
    assert [message.id for message in spare_key(None)] == ["keys.I005"]
    transitions.stage(now=now, kind=StatementKey)
    assert spare_key(None) == []


def test_operators_who_may_change_keys_change_these_too() -> None:
    keeper = operator("keeper", "view_signingkey", "change_signingkey")
    auditor = operator("auditor", "view_signingkey")
    address = "/admin/keys/statementkey/"

    assert auditor.get(address).status_code == 200
    assert auditor.get(f"{address}do/stage/").status_code == 403
    assert Client().get(address).status_code == 302
    keeper.post(f"{address}do/stage/", {"reason": "first"})
    staged = StatementKey.objects.get()
    assert not SigningKey.objects.exists()
    keeper.post(f"{address}do/rotate/")
    staged.refresh_from_db()
    assert staged.state == State.ACTIVE
    assert not SigningKey.objects.exists()
    page = keeper.get(address).content.decode()
    assert "Keys for statements" in page
    assert str(staged) in page
    keeper.post(f"{address}{staged.pk}/do/withdraw/", {"reason": "a drill"})
    staged.refresh_from_db()
    assert staged.state == State.WITHDRAWN
    assert KeyEvent.objects.filter(kid=staged.pk, action="withdrawn", actor="keeper").exists()


def test_the_shell_stages_a_key_for_statements() -> None:
    call_command("stage_signing_key", "--for", "statements", stdout=StringIO())

    assert StatementKey.objects.count() == 1
    assert not SigningKey.objects.exists()
