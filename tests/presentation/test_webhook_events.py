"""Which answers and revocations lead to events, for which relying parties, and at what cost."""

import hashlib
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import IntegrityError
from django.test import Client
from django.utils import timezone

from keys.jws import decode_segment
from keys.models import SigningKey
from keys.rotation import transitions
from presentation.models import Interaction, RelyingParty
from presentation.requests import answers, revocations
from presentation.webhooks.models import WebhookEvent
from tests.people import ALICE
from tests.presentation.dcql.queries import path, query, with_query
from tests.presentation.requests.authorization_requests import asked, fragment
from tests.presentation.requests.deciding import ask, pass_through, url_of_interaction
from tests.presentation.webhooks import opted_in
from tests.relying_party import status_reference
from tests.wallet.conftest import together
from tests.wallet.statuses import SAID, place_in
from wallet.credential import revocation
from wallet.models import StatusEntry, Wallet
from wallet.status_lists import changes
from wallet.status_lists.changes import Action

pytestmark = pytest.mark.usefixtures("signing_key")
SignIn = Callable[..., Any]


def told() -> list[dict[str, Any]]:
    return [json.loads(event.body) for event in WebhookEvent.objects.order_by("created_at")]


def collect() -> int:
    return revocations.collect(now=timezone.now())


@pytest.mark.parametrize(
    ("decision", "kind", "error"),
    [("share", "presentation.completed", {}), ("decline", "presentation.denied", {"error": "access_denied"})],
)
def test_an_event_identifies_an_answer_by_its_nonce_and_contains_nothing_else(
    holder: Client, alice: Wallet, acme_bank: RelyingParty, decision: str, kind: str, error: Any
) -> None:
    opted_in(acme_bank)
    pass_through(holder, acme_bank, decision)

    (body,) = told()
    nonce = asked(acme_bank)["nonce"]
    assert body["type"] == kind
    assert body["data"] == {
        "client_id": acme_bank.client_id,
        "nonce_sha256": hashlib.sha256(nonce.encode()).hexdigest(),
        **error,
    }
    assert body["timestamp"].endswith("Z")
    text = json.dumps(body)
    interaction = Interaction.objects.get()
    for secret in (ALICE, "Alice", "Archer", nonce, "af0ifjsldkj", str(interaction.pk), str(alice.pk)):
        assert secret not in text


def test_leaving_inserts_the_same_event_as_declining(client: Client, acme_bank: RelyingParty) -> None:
    opted_in(acme_bank)
    ask(client, acme_bank)
    client.get(f"{url_of_interaction()}leave/")

    (body,) = told()
    assert (body["type"], body["data"]["error"]) == ("presentation.denied", "access_denied")


@pytest.mark.parametrize(
    ("wanted", "decision"),
    [
        ("presentation.denied", "share"),
        ("presentation.completed", "decline"),
        ("credential.revoked", "share"),
    ],
)
def test_no_event_is_sent_that_the_relying_party_has_not_chosen(
    holder: Client, acme_bank: RelyingParty, wanted: str, decision: str
) -> None:
    opted_in(acme_bank, "https://bank.example/told", wanted)
    pass_through(holder, acme_bank, decision)
    collect()

    assert told() == []


def test_an_event_costs_one_statement_and_without_webhooks_none(
    client: Client,
    alice: Wallet,
    acme_bank: RelyingParty,
    sign_in: SignIn,
    statements: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(answers, "answer_at_once", lambda *_, **__: None)  # which tells of nothing
    sign_in(alice)
    pass_through(client, acme_bank, nonce="warms-up-what-is-cached")
    made = []
    for nonce in ("nobody-is-told-of-this", "the-bank-is-told-of-this"):
        ask(client, acme_bank, nonce=nonce)
        interaction_url = url_of_interaction(Interaction.objects.get(outcome=""))
        with statements() as answering:
            client.post(interaction_url, {"decision": "share"})
            every = [query["sql"] for query in answering.captured_queries]
        made.append((answering.texts, every))
        opted_in(acme_bank)

    (plain, all_of_plain), (with_event, all_with_event) = made
    assert all_of_plain == plain  # not even a transaction
    assert len(with_event) == len(plain) + 1
    assert len(all_with_event) == len(with_event) + 2


def test_an_answer_whose_event_cannot_be_inserted_is_not_given(
    holder: Client, acme_bank: RelyingParty
) -> None:
    opted_in(acme_bank)
    ask(holder, acme_bank)
    interaction = Interaction.objects.get()
    now = timezone.now()
    WebhookEvent.objects.create(
        relying_party=acme_bank,
        type="presentation.completed",
        subject=str(interaction.pk),
        created_at=now,
        due_at=now,
        give_up_at=now,
    )

    answer = fragment(holder.post(url_of_interaction(), {"decision": "share"}).headers["Location"])

    interaction.refresh_from_db()
    assert "vp_token" not in answer
    assert interaction.outcome == "error"
    assert [event.type for event in WebhookEvent.objects.order_by("created_at")] == [
        "presentation.completed",
        "presentation.denied",
    ]


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_racing_answers_insert_one_event(holder: Client, acme_bank: RelyingParty) -> None:
    opted_in(acme_bank)
    ask(holder, acme_bank)
    interaction_url = url_of_interaction()

    def send(number: int) -> Any:
        racer = Client()
        racer.cookies = holder.cookies.copy()
        return racer.post(interaction_url, {"decision": ("share", "decline")[number % 2]}).status_code

    assert together(send, 8).count(303) == 1
    outcome = {"token": "presentation.completed", "error": "presentation.denied"}
    assert [body["type"] for body in told()] == [outcome[Interaction.objects.get().outcome]]


# --- Presented credentials become invalid -----------------------------------------------------------------


def by_place(alice: Wallet, entry: StatusEntry) -> None:
    changes.change_presented(entry, Action.INVALIDATED, **SAID, now=timezone.now())


def by_holder(alice: Wallet, entry: StatusEntry) -> None:
    assert entry.reference
    changes.take_back(alice, entry.reference, now=timezone.now())


def by_credential(alice: Wallet, entry: StatusEntry) -> None:
    revocation.revoke(alice.credential, **SAID, now=timezone.now())


def by_wallet(alice: Wallet, entry: StatusEntry) -> None:
    call_command("set_credential_status", "invalid", "--wallet", str(alice.pk), "--reason", "x", "--yes")


def by_key(alice: Wallet, entry: StatusEntry) -> None:
    transitions.withdraw(SigningKey.objects.get(state="active").pk, reason="stolen", now=timezone.now())


@pytest.mark.parametrize("revoke", [by_place, by_holder, by_credential, by_wallet, by_key])
def test_each_cause_of_invalidity_leads_to_one_event(
    holder: Client, alice: Wallet, acme_bank: RelyingParty, revoke: Any
) -> None:
    opted_in(acme_bank, "https://bank.example/told", "credential.revoked")
    token = pass_through(holder, acme_bank)["vp_token"]
    assert collect() == 0

    revoke(alice, StatusEntry.objects.get())

    assert [collect(), collect()] == [1, 0]
    (body,) = told()
    payload = decode_segment(token.split(".")[1])
    assert body["type"] == "credential.revoked"
    assert body["data"] == {
        "client_id": acme_bank.client_id,
        "nonce_sha256": hashlib.sha256(asked(acme_bank)["nonce"].encode()).hexdigest(),
        "status": payload["status"],
    }
    assert place_in(token)[1] == status_reference(body["data"])[0]


def test_each_presentation_of_an_answer_has_its_event_when_it_is_revoked(
    holder: Client, alice: Wallet, acme_bank: RelyingParty
) -> None:
    opted_in(acme_bank, "https://bank.example/told", "credential.revoked", "presentation.completed")
    RelyingParty.objects.update(wire_format=RelyingParty.WireFormat.OPENID4VP_1_0)
    two = with_query(query(path("given_name"), id="c"), query(path("family_name"), id="e"))
    answer = json.loads(pass_through(holder, acme_bank, **two)["vp_token"])

    by_holder(alice, StatusEntry.objects.all()[0])

    assert [collect(), collect()] == [2, 0]
    completed, *revoked = told()
    assert completed["type"] == "presentation.completed"
    issued = [decode_segment(token.split(".")[1]) for (token,) in answer.values()]
    by_place = lambda status: status["status_list"]["idx"]  # noqa: E731
    assert sorted((body["data"]["status"] for body in revoked), key=by_place) == sorted(
        (payload["status"] for payload in issued), key=by_place
    )


def test_suspended_is_not_revoked(holder: Client, alice: Wallet, acme_bank: RelyingParty) -> None:
    opted_in(acme_bank)
    pass_through(holder, acme_bank)
    revocation.suspend(alice.credential, **SAID, now=timezone.now())

    assert collect() == 0


def test_expired_credentials_cause_no_event(holder: Client, alice: Wallet, acme_bank: RelyingParty) -> None:
    opted_in(acme_bank)
    pass_through(holder, acme_bank)
    by_credential(alice, StatusEntry.objects.get())

    assert revocations.collect(now=timezone.now() + timedelta(days=1)) == 0


@pytest.mark.slow
def test_revocations_are_reported_in_batches_to_their_relying_parties_only(
    holder: Client, alice: Wallet, acme_bank: RelyingParty, corner_shop: RelyingParty
) -> None:
    opted_in(acme_bank, "https://bank.example/told", "credential.revoked")
    for number in range(5):
        pass_through(holder, acme_bank, nonce=f"a-nonce-of-its-own-{number}")
    pass_through(holder, corner_shop, redirect_uri="https://shop.example/callback")
    by_credential(alice, StatusEntry.objects.all()[0])

    assert revocations.collect(now=timezone.now(), batch=2) == 5
    assert len({body["data"]["nonce_sha256"] for body in told()}) == 5
    assert {event.relying_party for event in WebhookEvent.objects.all()} == {acme_bank}


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_instances_that_look_at_once_tell_once(
    holder: Client, alice: Wallet, acme_bank: RelyingParty
) -> None:
    opted_in(acme_bank, "https://bank.example/told", "credential.revoked")
    for number in range(6):
        pass_through(holder, acme_bank, nonce=f"a-nonce-of-its-own-{number}")
    by_credential(alice, StatusEntry.objects.all()[0])

    assert not [error for error in together(lambda _: collect(), 6) if isinstance(error, Exception)]
    assert len(told()) == 6


def test_without_subscribers_no_status_is_queried(acme_bank: RelyingParty, statements: Any) -> None:
    with statements() as asked_for:
        collect()

    assert len(asked_for.texts) == 1


def test_the_database_itself_tells_nothing_twice(acme_bank: RelyingParty) -> None:
    now = timezone.now()
    event = {"relying_party": acme_bank, "type": "credential.revoked", "subject": "1/2", "created_at": now}
    WebhookEvent.objects.create(**event, due_at=now, give_up_at=now)
    with pytest.raises(IntegrityError):
        WebhookEvent.objects.create(**event, due_at=now, give_up_at=now)
