"""The outcome endpoint over HTTP: what a relying party learns about its own requests, and nothing else."""

import json
import re
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client
from django.utils import timezone

from presentation import outcomes, retention
from presentation.machine_errors import MachineError
from presentation.models import Interaction, RelyingParty, ResponseURI
from presentation.relying_parties import registration
from presentation.relying_parties.authentication import access_tokens
from presentation.relying_parties.metadata.grants import PUSH, READ, VERIFY
from presentation.requests.delivery.deliveries import DeliveryState
from tests.people import ALICE, BOB
from tests.presentation.clients import access_token, registered
from tests.presentation.requests.deciding import SignIn, ask, decide
from tests.receiver import listening
from tests.wallet.statuses import SAID
from wallet.credential import revocation
from wallet.models import StatusEntry, Wallet

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("signing_key")]
OUTCOME = "/verifiable-credentials/v1/presentation/outcome"
NONCE = "n-0S6_WzA2Mj-0S6_WzA2Mj"
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@pytest.fixture
def bank() -> RelyingParty:
    return registered()


@pytest.fixture
def begun(client: Client, bank: RelyingParty, alice: Wallet, sign_in: SignIn) -> str:
    """The bank asks Alice for consent; returns the address of the page."""
    sign_in(alice)
    return ask(client, bank, nonce=NONCE)


def read(party: RelyingParty, nonce: str = NONCE, *, token: str | None = None, query: str = "") -> Any:
    return Client().get(
        f"{OUTCOME}?{query or 'nonce=' + quote(nonce, safe='')}",
        headers={"Authorization": f"Bearer {token or access_token(party)}"},
    )


def told(party: RelyingParty, nonce: str = NONCE) -> dict[str, Any]:
    response = read(party, nonce)
    assert response.status_code == 200, response.content
    assert response.headers["Cache-Control"] == "no-store"
    answer: dict[str, Any] = response.json()
    assert answer.keys() <= {"state", "begun_at", "answered_at", "error", "delivery", "status"}
    for name in ("begun_at", "answered_at"):
        assert name not in answer or TIME.fullmatch(answer[name])
    return answer


def unknown(response: Any) -> bytes:
    assert (response.status_code, response.json()["error"]) == (404, "unknown_request")
    assert "no-store" in response.headers["Cache-Control"]
    content: bytes = response.content
    return content


def share(client: Client, page: str) -> None:
    client.get(decide(client, page))


# --- The states of a request ------------------------------------------------------------------------------


def test_an_open_request_is_open_and_nothing_else(bank: RelyingParty, begun: str) -> None:
    assert told(bank).keys() == {"state", "begun_at"}
    assert told(bank)["state"] == "open"


def test_a_second_token_in_the_address_is_an_invalid_request(bank: RelyingParty, begun: str) -> None:
    response = read(bank, query=f"nonce={NONCE}&access_token=x")
    assert (response.status_code, response.json()["error"]) == (400, "invalid_request")


def test_whether_the_person_has_signed_in_makes_no_difference(bank: RelyingParty, begun: str) -> None:
    ask(Client(), bank, nonce="another-fresh-nonce")  # a browser without a session
    assert told(bank).keys() == told(bank, "another-fresh-nonce").keys()


def test_a_request_that_was_answered_is_completed_with_the_status_of_what_was_given(
    client: Client, bank: RelyingParty, begun: str, alice: Wallet
) -> None:
    share(client, begun)

    answer = told(bank)
    assert answer.keys() == {"state", "begun_at", "answered_at", "status"}
    assert (answer["state"], answer["status"]) == ("completed", "valid")
    revocation.suspend(alice.credential, **SAID, now=timezone.now())
    assert told(bank)["status"] == "suspended"
    revocation.revoke(alice.credential, **SAID, now=timezone.now())
    assert told(bank)["status"] == "invalid"


def test_of_several_presentations_the_worst_status_is_told(
    client: Client, bank: RelyingParty, begun: str
) -> None:
    share(client, begun)
    entry = StatusEntry.objects.get()
    entry.pk, entry.idx = None, entry.idx + 1
    for status in (entry.Status.SUSPENDED, entry.Status.INVALID, entry.Status.SUSPENDED):
        entry.status = status
        entry.save()
        assert told(bank)["status"] == status.name.lower()
        if status == entry.Status.INVALID:
            break


def test_the_status_is_left_out_once_the_presentation_has_ended(
    client: Client, bank: RelyingParty, begun: str
) -> None:
    share(client, begun)
    StatusEntry.objects.update(expires_at=timezone.now())

    assert told(bank).keys() == {"state", "begun_at", "answered_at"}


def test_a_declined_request_is_denied_as_in_its_redirect(
    client: Client, bank: RelyingParty, begun: str
) -> None:
    client.get(decide(client, begun, "decline"))

    answer = told(bank)
    assert (answer["state"], answer["error"]) == ("denied", "access_denied")
    assert answer.keys() == {"state", "begun_at", "answered_at", "error"}


def test_giving_up_before_signing_in_is_the_same_as_a_no(client: Client, bank: RelyingParty) -> None:
    ask(client, bank, nonce=NONCE)
    client.get(f"/verifiable-credentials/v1/presentation/interactions/{Interaction.objects.get().id}/leave/")

    answer = told(bank)
    assert (answer["state"], answer["error"]) == ("denied", "access_denied")
    assert answer.keys() == {"state", "begun_at", "answered_at", "error"}


def test_what_went_wrong_is_failed_with_its_code(bank: RelyingParty, begun: str) -> None:
    Interaction.objects.update(outcome="error", error="server_error", answered_at=timezone.now())

    assert (told(bank)["state"], told(bank)["error"]) == ("failed", "server_error")


def test_a_request_without_an_answer_expires_and_is_deleted(bank: RelyingParty, begun: str) -> None:
    Interaction.objects.update(expires_at=timezone.now())
    assert told(bank).keys() == {"state", "begun_at"}
    assert told(bank)["state"] == "expired"

    later = timezone.now() + retention.WAY_BACK_KEPT + timedelta(minutes=1)
    retention.clear_interactions(now=later, batch=10)
    unknown(read(bank))


@pytest.mark.parametrize(("status", "delivery"), [(200, "delivered"), (500, "waiting")])
def test_of_an_answer_that_is_posted_it_says_whether_it_arrived(
    holder: Client, bank: RelyingParty, settings: Any, status: int, delivery: str
) -> None:
    with listening() as receiver:
        receiver.status = status
        ResponseURI.objects.create(relying_party=bank, uri=receiver.uri)
        posted = {"response_mode": "direct_post", "response_uri": receiver.uri, "redirect_uri": None}
        share(holder, ask(holder, bank, nonce=NONCE, **posted))

    assert (told(bank)["state"], told(bank)["delivery"]) == ("completed", delivery)
    if delivery == "waiting":
        later = timezone.now() + timedelta(minutes=6)
        assert outcomes.outcome_of(NONCE, client_id=bank.client_id, now=later)["delivery"] == "undelivered"


def test_there_is_a_word_for_every_state_of_an_answer() -> None:
    assert set(outcomes.DELIVERIES) == set(DeliveryState)


def test_of_several_browsers_the_one_with_a_token_counts_else_what_happened_last(
    client: Client, bank: RelyingParty, begun: str
) -> None:
    second, third = Client(), Client()
    ask(second, bank, nonce=NONCE)
    newest = Interaction.objects.latest("created_at")
    second.get(f"/verifiable-credentials/v1/presentation/interactions/{newest.id}/leave/")
    assert told(bank)["state"] == "denied"
    ask(third, bank, nonce=NONCE)
    assert told(bank)["state"] == "open"
    share(client, begun)
    assert told(bank)["state"] == "completed"
    answered = Interaction.objects.get(outcome="token").answered_at
    Interaction.objects.exclude(outcome="token").update(created_at=answered + timedelta(minutes=1))
    assert told(bank)["state"] == "completed"


# --- What is not revealed ---------------------------------------------------------------------------------


def test_the_outcome_contains_neither_the_holder_nor_claims(
    client: Client, bank: RelyingParty, begun: str, alice: Wallet
) -> None:
    share(client, begun)
    interaction = Interaction.objects.get()
    said = json.dumps(told(bank))

    private = ["Alice", "Archer", ALICE, str(interaction.id), str(interaction.consent_id), str(alice.id)]
    private += [interaction.nonce_digest, NONCE, "af0ifjsldkj", "given_name", "browser"]
    for word in private:
        assert word not in said


def test_two_people_who_say_no_cannot_be_told_apart(
    client: Client, bank: RelyingParty, begun: str, bob: Wallet, sign_in: SignIn
) -> None:
    client.get(decide(client, begun, "decline"))
    other = Client()
    sign_in(bob, browser=other)
    page = ask(other, bank, nonce="another-fresh-nonce", login_hint=BOB)
    revocation.revoke(bob.credential, **SAID, now=timezone.now())
    other.get(decide(other, page, "decline"))
    now = timezone.now()
    Interaction.objects.update(created_at=now, answered_at=now)

    assert told(bank) == told(bank, "another-fresh-nonce")


def test_another_partys_request_is_as_unknown_as_one_that_was_never_made(
    client: Client, bank: RelyingParty, begun: str
) -> None:
    shop = registered("Corner Shop")
    answers = {
        unknown(read(shop)),
        unknown(read(shop, "a-nonce-of-nobody-at-all")),
        unknown(read(shop, "short")),
    }
    share(client, begun)
    answers |= {unknown(read(shop)), unknown(read(bank, NONCE.lower())), unknown(read(bank, NONCE + "x"))}

    assert len(answers) == 1


def test_two_relying_parties_with_the_same_nonce_see_their_own_requests(
    client: Client, bank: RelyingParty, begun: str
) -> None:
    shop = registered("Corner Shop")
    page = ask(client, shop, nonce=NONCE)
    share(client, page)

    assert told(shop)["state"] == "completed"
    assert told(bank)["state"] == "open"


def test_a_suspended_relying_party_gets_no_webhooks(bank: RelyingParty, begun: str) -> None:
    before = access_token(bank)
    registration.suspend(bank, "complaints")

    for nonce in (NONCE, "a-nonce-of-nobody-at-all"):
        response = read(bank, nonce, token=before)
        assert (response.status_code, response.json()["error"]) == (401, "invalid_token")
    with pytest.raises(MachineError):  # if it is suspended between both statements
        outcomes.outcome_of(NONCE, client_id=bank.client_id, now=timezone.now())


@pytest.mark.parametrize("grants", [[], [VERIFY], [PUSH, VERIFY]])
def test_another_scope_opens_nothing(bank: RelyingParty, begun: str, grants: list[str]) -> None:
    token = access_tokens.issue(bank.client_id, grants, now=timezone.now())["access_token"]
    response = read(bank, token=token)

    assert (response.status_code, response.json()["error"]) == (403, "insufficient_scope")
    assert f'scope="{READ}"' in response.headers["WWW-Authenticate"]


def test_without_an_access_token_the_outcome_is_not_returned(
    client: Client, bank: RelyingParty, begun: str
) -> None:
    response = client.get(OUTCOME, {"nonce": NONCE})
    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"] == 'Bearer realm="presentation"'
    assert read(bank, token="a.b.c").json()["error"] == "invalid_token"


@pytest.mark.parametrize(
    "query",
    [
        "x=1",
        "nonce=",
        f"nonce={NONCE}&nonce={NONCE}",
        "nonce=" + "x" * 513,
        "nonce=" + "x" * 9000,
        "nonce=%ff",
        "nonce=%00",
        "nonce=a%00b",
        "nonce=%ED%A0%80",
        "nonce=%zz",
        "nonce=%u0041",
    ],
)
def test_a_nonce_that_cannot_be_read_is_a_mistake(bank: RelyingParty, begun: str, query: str) -> None:
    response = read(bank, query=query)

    assert (response.status_code, response.json()["error"]) == (400, "invalid_request")
    assert response.json()["error_description"]


@pytest.mark.parametrize("method", ["post", "put", "delete", "patch", "options"])
def test_it_is_read_only(bank: RelyingParty, method: str) -> None:
    response = getattr(Client(), method)(OUTCOME, headers={"Authorization": f"Bearer {access_token(bank)}"})

    assert response.status_code == 405
    assert response.headers["Allow"] == "GET, HEAD"


def test_what_it_costs_does_not_grow_with_how_often_a_browser_brought_it(
    client: Client, bank: RelyingParty, begun: str, statements: Any
) -> None:
    share(client, begun)
    token = access_token(bank)
    read(bank, token=token)
    with statements() as once:
        read(bank, token=token)
    for _ in range(3):
        Interaction.objects.create(
            relying_party=bank,
            redirect_uri="https://bank.example/callback",
            browser="x",
            parameters={},
            request_hash="x",
            nonce_digest=Interaction.objects.get(outcome="token").nonce_digest,
            created_at=timezone.now(),
            expires_at=timezone.now() + timedelta(minutes=30),
        )
    with statements() as again:
        read(bank, token=token)

    assert len(once.texts) == len(again.texts) == 4, (
        once.texts
    )  # the client, the limit, the request, the status
