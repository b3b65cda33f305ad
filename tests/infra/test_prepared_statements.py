"""Prepared statements give and do the same as the ORM, and refuse what they cannot do."""

import sys
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.db.models import Exists, Model, OuterRef, Prefetch
from django.test import Client
from django.utils import timezone

from consent import decisions
from consent.models import Consent
from infra.database.prepared.composition import Literal
from infra.database.prepared.reads import JoinedRead, PreparedRead
from infra.database.prepared.writes import JoinedInsert, PreparedInsert, PreparedUpdate
from presentation.models import Interaction, PushedRequest, RedirectURI, RelyingParty, ResponseURI
from presentation.relying_parties.authentication import client_secrets
from presentation.requests import interactions
from tests.consent.questions import put
from tests.presentation.requests.test_certified_client_ids import certificate_of, certified
from tests.presentation.requests.test_flow import ask, decide
from wallet.models import Credential, HolderSession, StatusEntry, Wallet
from wallet.sign_in import sessions

pytestmark = pytest.mark.django_db

by_email = PreparedRead(lambda value: Wallet.objects.filter(email=value("email")))


def all_of(instance: Any) -> Any:
    """The columns of a row and of the rows that were read with it."""
    if not isinstance(instance, Model):
        return instance
    related = instance._state.fields_cache
    own = {name: member for name, member in vars(instance).items() if name != "_state"}
    with_it = {name: other and (type(other), other.pk) for name, other in related.items()}
    return type(instance), own, instance._state.adding, instance._state.db, with_it


def every_read() -> dict[str, PreparedRead[Any]]:
    """Every prepared read of the service, by each module that has it and its name there."""
    apps = ("keys", "wallet", "consent", "presentation", "config")
    return {
        f"{module_name}.{name}": value
        for module_name, module in list(sys.modules.items())
        if module_name.split(".")[0] in apps
        for name, value in vars(module).items()
        if isinstance(value, PreparedRead)
    }


@pytest.fixture
def asked(client: Client, alice: Wallet, acme_bank: RelyingParty, signing_key: Any, sign_in: Any) -> Any:
    """A holder who shared once and is asked again."""
    sign_in(alice)
    client.get(decide(client, ask(client, acme_bank)))
    ask(client, acme_bank, nonce="another-fresh-nonce")
    return Interaction.objects.select_related("consent").get(outcome="")


def test_every_prepared_read_gives_what_its_queryset_gives(asked: Any, acme_bank: RelyingParty) -> None:
    now = timezone.now()
    answered = Interaction.objects.get(outcome="token")
    PushedRequest.objects.create(
        digest="f" * 64,
        client_id=acme_bank.client_id,
        parameters={"nonce": "n", "redirect_uri": "https://bank.example/callback"},
        nonce_digest=answered.nonce_digest,
        request_hash=answered.request_hash,
        signed=True,
        expires_at=now,
    )
    client_secrets.rotate(acme_bank, now=now)
    ResponseURI.objects.create(relying_party=acme_bank, uri="https://bank.example/response")
    seen = {name: getattr(answered, name) for name in ("browser", "nonce_digest", "request_hash")}
    asks, of_party = {"client_id": acme_bank.client_id} | seen, {"party": acme_bank.pk} | seen
    entry = StatusEntry.objects.get()
    holder = {"digest": HolderSession.objects.get().digest, "now": now, "idle_since": now - timedelta(1)}
    values: dict[str, dict[str, Any]] = {
        "wallet.sign_in.sessions._living": holder,
        "consent.decisions.LAST_SHARED": {"id": asked.consent_id, "now": now},
        "consent.decisions.LAST_SHARED_WITH": {
            "client_id": acme_bank.client_id,
            "digest": holder["digest"],
            "now": now,
        },
        "consent.decisions.QUESTION": {"id": asked.consent_id},
        "wallet.credential.examination._at_place": {"status_list": entry.status_list_id, "idx": entry.idx},
        "presentation.relying_parties.authentication.authentication._known_by_secret": {
            "client_id": acme_bank.client_id,
            "now": now,
        },
        "presentation.relying_parties.authentication.authentication._active": {
            "client_id": acme_bank.client_id
        },
        "presentation.requests.interactions.INTERACTION": {"id": asked.id},
        "presentation.requests.carriers.pushed_requests._by_digest": {"pushed": "f" * 64},
        "presentation.requests.client.PUSHED_BY": {
            "client_id": acme_bank.client_id,
            "pushed": "f" * 64,
            "browser": answered.browser,
        },
        "presentation.requests.client._with_redirect_uri": asks | {"uri": "https://bank.example/callback"},
        "presentation.requests.client._with_response_uri": asks | {"uri": "https://bank.example/response"},
        "presentation.requests.client._redirect_uris": of_party,
        "presentation.requests.client._response_uris": of_party,
        "presentation.requests.client._active": {"client_id": acme_bank.client_id},
        "presentation.requests.client._certified": {
            "client_id": certified(acme_bank, certificate_of().pem).client_id
        },
    }

    reads = every_read()
    assert {reads[name] for name in values} == set(reads.values())
    for name in values:
        read = reads[name]
        given = read.all(**values[name])
        expected = list(read._rows(values[name].__getitem__))
        assert [all_of(row) for row in given] == [all_of(row) for row in expected], name
        assert given, name


def test_joined_reads_give_what_each_gives_alone(asked: Any, acme_bank: RelyingParty) -> None:
    now = timezone.now()
    holder = {"digest": HolderSession.objects.get().digest, "now": now, "idle_since": now - timedelta(1)}
    reads = (sessions._living, interactions.INTERACTION, decisions.LAST_SHARED)
    session, interaction, _ = JoinedRead(*reads).first(id=asked.id, **holder)
    _, nothing, shared = JoinedRead(*reads).first(id=asked.consent_id, **holder)

    assert all_of(session) == all_of(sessions._living.first(**holder))
    assert all_of(interaction) == all_of(interactions.INTERACTION.first(id=asked.id))
    assert shared == decisions.LAST_SHARED.first(id=asked.consent_id, now=now)
    assert shared is not None
    assert nothing is None  # no interaction has the id of a consent


def test_of_joined_reads_those_without_a_row_are_none(alice: Wallet) -> None:
    of_nobody = PreparedRead(lambda value: Wallet.objects.filter(email=value("other")))
    both = JoinedRead(by_email, of_nobody)
    assert both.first(email=alice.email, other="nobody@example.org") == (alice, None)
    assert both.first(email="nobody@example.org", other=alice.email) == (None, alice)
    assert both.first(email="nobody@example.org", other="") == (None, None)


def test_joined_reads_take_exactly_the_values_that_they_name(alice: Wallet) -> None:
    both = JoinedRead(by_email, by_email)
    assert both.first(email=alice.email) == (alice, alice)
    for values in ({}, {"email": alice.email, "id": 1}):
        with pytest.raises(TypeError):
            both.first(**values)


def test_rows_are_inserted_together_or_not_at_all(alice: Wallet, bob: Wallet) -> None:
    insert = JoinedInsert(PreparedInsert(Consent), PreparedInsert(Consent))
    model = put(alice)
    facts = {
        field.attname: getattr(model, field.attname)
        for field in Consent._meta.concrete_fields
        if field.name != "id"
    }
    insert.run(one := Consent(**facts), two := Consent(**facts))
    assert Consent.objects.filter(id__in=[one.id, two.id]).count() == 2
    assert not one._state.adding
    third = Consent(**facts)
    with pytest.raises(IntegrityError), transaction.atomic():
        insert.run(third, Consent(**facts | {"id": one.id}))
    assert not Consent.objects.filter(id=third.id).exists()


def test_a_literal_cannot_end_itself(alice: Wallet) -> None:
    read = PreparedRead(
        lambda value: Wallet.objects.filter(email=value("email"), suspension_reason=Literal("it's"))
    )
    assert read.first(email=alice.email) is None
    Wallet.objects.update(suspension_reason="it's")
    assert read.first(email=alice.email) == alice


def test_the_second_use_has_other_values(alice: Wallet, bob: Wallet) -> None:
    assert by_email.all(email=alice.email) == [alice]
    assert by_email.all(email=bob.email) == [bob]
    assert by_email.first(email="nobody@example.org") is None


def test_a_joined_row_that_is_not_there_is_none(alice: Wallet) -> None:
    Credential.objects.all().delete()
    read = PreparedRead(
        lambda value: Wallet.objects.select_related("credential").filter(email=value("email"))
    )
    found = read.first(email=alice.email)
    assert found == alice
    assert getattr(found, "credential", None) is None


def test_comparisons_inside_or_and_exists_are_filled_in(acme_bank: RelyingParty, alice: Wallet) -> None:
    read = PreparedRead(
        lambda value: RelyingParty.objects.annotate(
            there=Exists(RedirectURI.objects.filter(relying_party=OuterRef("pk"), uri=value("uri")))
        ).exclude(client_id=value("other"))
    )
    for uri, there in (("https://bank.example/callback", True), ("https://bank.example/", False)):
        (found,) = read.all(uri=uri, other="nobody")
        assert (found, found.there) == (acme_bank, there)


@pytest.mark.parametrize("values", [{}, {"mail": "a@example.org"}, {"email": "a@example.org", "id": 1}])
def test_exactly_the_named_values_are_taken(values: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        by_email.all(**values)


def test_none_is_refused_because_nothing_equals_it_in_sql() -> None:
    with pytest.raises(ValueError, match="email"):
        by_email.all(email=None)


@pytest.mark.parametrize(
    "rows",
    [
        lambda value: Wallet.objects.select_for_update().filter(email=value("email")),
        lambda value: Wallet.objects.prefetch_related(Prefetch("consents")).filter(email=value("email")),
    ],
)
def test_locks_and_further_statements_are_refused(rows: Callable[..., Any]) -> None:
    with pytest.raises(NotImplementedError):
        PreparedRead(rows).all(email="a@example.org")


def test_an_update_changes_what_its_queryset_finds_and_says_how_many(alice: Wallet, bob: Wallet) -> None:
    suspend = PreparedUpdate(
        lambda value: Wallet.objects.filter(id=value("id"), state="active"), "state", "suspension_reason"
    )
    facts = {"id": alice.id, "state": "suspended", "suspension_reason": "lost"}
    assert [suspend.run(**facts), suspend.run(**facts), suspend.run(**facts | {"id": uuid.uuid4()})] == [
        1,
        0,
        0,
    ]
    assert dict(Wallet.objects.values_list("email", "state")) == {
        alice.email: "suspended",
        bob.email: "active",
    }


def test_an_update_writes_json_and_null_as_django_does(asked: Interaction) -> None:
    empty = PreparedUpdate(
        lambda value: Interaction.objects.filter(id=value("id")), "parameters", "consent", "redirect_uri"
    )
    assert empty.run(id=asked.id, parameters={"a": ["ü", None]}, consent=None, redirect_uri="x:y") == 1
    found = Interaction.objects.get(id=asked.id)
    assert (found.parameters, found.consent_id, found.redirect_uri) == ({"a": ["ü", None]}, None, "x:y")


def test_an_insert_writes_the_row_that_save_would(alice: Wallet) -> None:
    model = put(alice)
    facts = {
        field.attname: getattr(model, field.attname)
        for field in Consent._meta.concrete_fields
        if field.name != "id"
    }
    saved, inserted = Consent(**facts), Consent(**facts)
    saved.save()
    PreparedInsert(Consent).run(inserted)

    rows = Consent.objects.filter(id__in=[saved.id, inserted.id])
    written, other = rows.values(*facts)
    assert written == other
    assert (inserted._state.adding, inserted._state.db) == (saved._state.adding, saved._state.db)


def test_an_insert_keeps_the_constraints_of_the_table(alice: Wallet) -> None:
    twin = Wallet(email=alice.email, created_at=timezone.now())
    with pytest.raises(IntegrityError), transaction.atomic():
        PreparedInsert(Wallet).run(twin)
