"""The statements of the fast path give and write the same rows as Django's ORM, on PostgreSQL."""

import uuid
from collections.abc import Callable
from dataclasses import fields
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import Model
from django.test import Client
from django.utils import timezone

from consent import decisions
from consent.models import Consent
from infra.sealing import sha256_hex
from presentation.models import Interaction, PushedRequest, RedirectURI, RelyingParty, ResponseURI
from presentation.requests.fast_path import writing
from presentation.requests.fast_path.reading import (
    interaction_by_orm,
    read_interaction_rows,
    read_request_rows,
    request_by_orm,
)
from tests.consent.questions import put
from tests.presentation.requests.deciding import ask
from wallet.models import HolderSession, Wallet
from wallet.sign_in import sessions

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db, pytest.mark.usefixtures("signing_key")]


def told(row: Any) -> Any:
    """A row as all of its columns, with the rows that were read with it."""
    if not isinstance(row, Model):
        return row
    found = {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}
    found = {name: bytes(each) if isinstance(each, memoryview) else each for name, each in found.items()}
    read_too = {
        field.name for field in row._meta.concrete_fields if field.is_relation and field.is_cached(row)
    }
    return found | {name: told(getattr(row, name)) for name in read_too}


def compared(one: Any, other: Any) -> None:
    """Both have the same in every field, whatever the order of addresses."""
    for field in fields(one):
        mine, theirs = getattr(one, field.name), getattr(other, field.name)
        if field.name.endswith("_uris"):
            mine, theirs = sorted(mine), sorted(theirs)
        assert told(mine) == told(theirs), field.name


@pytest.fixture
def session(client: Client, alice: Wallet, sign_in: Callable[..., Any]) -> HolderSession:
    sign_in(alice)
    return HolderSession.objects.get()


@pytest.fixture
def asked(client: Client, session: HolderSession, acme_bank: RelyingParty) -> Interaction:
    """Acme Bank asks Alice, who shared with it before."""
    RedirectURI.objects.create(relying_party=acme_bank, uri="https://bank.example/other")
    ResponseURI.objects.create(relying_party=acme_bank, uri="https://bank.example/response")
    ask(client, acme_bank)
    earlier = put(session.wallet, requester_id=acme_bank.client_id, now=timezone.now() - timedelta(hours=1))
    decisions.grant(earlier.id, session.wallet, now=earlier.asked_at)
    return Interaction.objects.get()


def request_facts(asked: Interaction, session: HolderSession) -> dict[str, Any]:
    return {
        "nonce_digest": asked.nonce_digest,
        "request_hash": asked.request_hash,
        "handle_digest": "",
        "browser": asked.browser,
        "session_digest": session.digest,
    }


def pushed(asked: Interaction, now: datetime) -> PushedRequest:
    return PushedRequest.objects.create(
        digest=sha256_hex("a handle"),
        client_id=asked.relying_party.client_id,
        parameters={"nonce": "x", "state": "ü"},
        sealed_transaction_data=b"\x00\xff",
        nonce_digest=asked.nonce_digest,
        request_hash=asked.request_hash,
        signed=True,
        expires_at=now + timedelta(minutes=1),
    )


CHANGES: dict[str, dict[str, Any]] = {
    "all that there is": {},
    "another nonce": {"nonce_digest": "0" * 64},
    "another request": {"request_hash": "0" * 64},
    "another browser": {"browser": "0" * 64},
    "nobody is signed in": {"session_digest": ""},
    "a session that is not known": {"session_digest": "0" * 64},
    "a handle that is not known": {"handle_digest": "0" * 64},
    "a pushed request": {"handle_digest": sha256_hex("a handle"), "nonce_digest": "", "request_hash": ""},
    "a client that is not known": {"client_id": "nobody"},
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("outcome", ["", "token"])
def test_a_request_is_read_as_by_the_orm(
    asked: Interaction, session: HolderSession, change: str, outcome: str
) -> None:
    now = timezone.now()
    pushed(asked, now)
    if outcome:
        Interaction.objects.update(outcome=outcome, answered_at=now)
    facts = {"client_id": asked.relying_party.client_id, **request_facts(asked, session), **CHANGES[change]}

    found = read_request_rows(**facts, now=now)

    compared(found, request_by_orm(**facts, now=now))
    known = change not in ("nobody is signed in", "a session that is not known")
    assert (found.session is not None) == known
    assert (found.last_shared is not None) == (known and change != "a client that is not known")
    if change == "all that there is":
        assert (found.begun, found.nonce_used) == (asked.id, outcome == "token")
        assert "https://bank.example/other" in found.redirect_uris
        assert found.response_uris == ("https://bank.example/response",)
    assert (found.pushed is not None) == (change == "a pushed request")


@pytest.mark.parametrize(
    "change",
    [
        lambda session, now: HolderSession.objects.update(expires_at=now),
        lambda session, now: HolderSession.objects.update(last_seen_at=now - sessions.IDLE),
        lambda session, now: session.wallet.credential.delete(),
        lambda session, now: Consent.objects.filter(decision="granted").update(undelivered_at=now),
        lambda session, now: Consent.objects.filter(decision="granted").update(
            undelivered_at=now + timedelta(seconds=1)
        ),
    ],
    ids=["session has ended", "session is idle", "no credential", "undelivered", "not collected yet"],
)
def test_what_has_ended_is_read_as_by_the_orm(
    asked: Interaction, session: HolderSession, change: Any
) -> None:
    now = timezone.now()
    change(session, now)
    facts = {"client_id": asked.relying_party.client_id, **request_facts(asked, session)}
    compared(read_request_rows(**facts, now=now), request_by_orm(**facts, now=now))
    compared(
        read_interaction_rows(asked.id, session_digest=session.digest, now=now),
        interaction_by_orm(asked.id, session_digest=session.digest, now=now),
    )


@pytest.mark.parametrize("posted", [False, True])
def test_an_interaction_is_read_as_by_the_orm(
    asked: Interaction, session: HolderSession, posted: bool
) -> None:
    now = timezone.now()
    if posted:
        Interaction.objects.update(redirect_uri="", response_uri="https://bank.example/response")
    for interaction_id in (asked.id, uuid.uuid4()):
        for digest in (session.digest, ""):
            found = read_interaction_rows(interaction_id, session_digest=digest, now=now)
            compared(found, interaction_by_orm(interaction_id, session_digest=digest, now=now))
            assert (found.interaction is not None) == (interaction_id == asked.id)


def test_an_interaction_without_a_question_has_none(asked: Interaction, session: HolderSession) -> None:
    Interaction.objects.update(consent=None)
    found = read_interaction_rows(asked.id, now=timezone.now()).interaction
    assert found is not None
    assert found.consent is None


def test_a_question_is_written_as_by_the_orm(asked: Interaction, session: HolderSession) -> None:
    rows = []
    for write in (writing.write_question, writing.question_by_orm):
        consent = Consent.objects.get(id=asked.consent_id)
        consent.pk, consent._state.adding = uuid.uuid4(), True
        interaction = Interaction.objects.get(id=asked.id)
        interaction.pk, interaction.consent, interaction._state.adding = uuid.uuid4(), consent, True
        interaction.parameters = {"state": "ü", "number": 1, "null": None}
        interaction.sealed_transaction_data = b"\x00\xff"

        write(consent, interaction)

        assert not consent._state.adding
        assert interaction._state.db == connection.alias
        stored = told(Interaction.objects.select_related("consent").get(id=interaction.id))
        rows.append({name: value for name, value in stored.items() if name not in ("id", "consent_id")})
        del rows[-1]["consent"]["id"]
    assert rows[0] == rows[1]


def test_of_a_question_and_its_interaction_neither_is_written_alone(asked: Interaction) -> None:
    consent = Consent.objects.get(id=asked.consent_id)
    consent.pk, consent._state.adding = uuid.uuid4(), True
    twin = Interaction.objects.get(id=asked.id)  # with a key that there is already
    twin.consent = consent
    for write in (writing.write_question, writing.question_by_orm):
        with pytest.raises(IntegrityError), transaction.atomic():
            write(consent, twin)
        assert not Consent.objects.filter(pk=consent.pk).exists()


def test_each_read_is_one_statement(asked: Interaction, session: HolderSession, statements: Any) -> None:
    now, client_id = timezone.now(), asked.relying_party.client_id
    with statements() as made:
        read_request_rows(client_id, **request_facts(asked, session), now=now)
    assert len(made.texts) == 1
    with statements() as made:
        found = read_interaction_rows(asked.id, session_digest=session.digest, wants_index=True, now=now)
        assert found.interaction
        assert found.session
        assert found.interaction.relying_party.name
        assert found.interaction.consent
        assert found.session.wallet.credential.wallet == found.session.wallet
    assert len(made.texts) == 1
