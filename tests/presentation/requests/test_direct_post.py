"""Answers that are posted (OpenID4VP 1.0 §8.2, §8.3) to a real web server: delivered or retried."""

import json
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from email.utils import format_datetime
from typing import Any
from urllib.parse import parse_qs

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone
from joserfc.jwk import ECKey

import tests.relying_party
from consent import decisions
from consent.models import Consent
from infra.outbound import calls
from infra.outbound.calls import Outbound
from infra.waiting import waiting_for
from presentation.models import Delivery, Interaction, RelyingParty, ResponseURI
from presentation.relying_parties.metadata import public_keys
from presentation.requests.delivery import deliveries, posting
from presentation.webhooks.models import WebhookEvent
from tests.consent.questions import last_shared
from tests.forgery import new_key, public_jwk
from tests.people import register
from tests.presentation.dcql.queries import disclosed, path, query, with_query
from tests.presentation.far_ends import answers, far_end
from tests.presentation.requests.authorization_requests import PATH, asked, fragment
from tests.presentation.requests.deciding import address_of_page
from tests.presentation.webhooks import opted_in
from tests.receiver import Receiver, listening
from wallet.account.closing import closures
from wallet.models import Wallet

pytestmark = [
    pytest.mark.usefixtures("signing_key", "alice"),
    pytest.mark.django_db(transaction=True),
    pytest.mark.slow,
]
SignIn = Callable[..., Any]
HERE = "https://bank.example/welcome?response_code=091535f699ea575c7937fa5f0f454aee"
FOLLOWED = f"{HERE}#"  # so that the browser does not append the fragment of the address it requested


@pytest.fixture(autouse=True)
def _fresh_documents() -> None:
    """Empties the cached documents, which would outlive a test and its keys."""
    from config.urls import PUBLISHED_DOCUMENTS, PUBLISHED_FAMILIES

    for document in (*PUBLISHED_DOCUMENTS.values(), *PUBLISHED_FAMILIES.values()):
        document.refresh()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with listening() as running:
        yield running


@pytest.fixture
def bank(acme_bank: RelyingParty, receiver: Receiver) -> RelyingParty:
    """Acme Bank, which has `receiver` registered as its response URI."""
    ResponseURI.objects.create(relying_party=acme_bank, uri=receiver.uri)
    return acme_bank


@pytest.fixture
def asks(client: Client, bank: RelyingParty, receiver: Receiver, alice: Wallet, sign_in: SignIn) -> Any:
    """Signs Alice in; returns a function that sends a changed request and returns the response."""
    sign_in(alice)

    def asks(browser: Client = client, **changes: Any) -> Any:
        direct = {"response_mode": "direct_post", "response_uri": receiver.uri, "redirect_uri": None}
        return browser.get(PATH, asked(bank, **{**direct, **changes}))

    return asks


@pytest.fixture
def interaction_url(client: Client, asks: Any) -> str:
    """The address to which Alice's consent page is submitted."""
    asks()
    return url_of_interaction()


def url_of_interaction() -> str:
    interaction = Interaction.objects.latest("created_at")
    return f"{PATH.removesuffix('authorize')}interactions/{interaction.id}/"


def verifier(bank: RelyingParty, settings: Any, **changes: Any) -> tests.relying_party.RelyingParty:
    """Acme Bank's response code, as in the request of `asked`."""
    party = tests.relying_party.RelyingParty(
        bank.client_id,
        "",
        settings.BASE_URL,
        fetch=lambda url: Client().get(url.removeprefix(settings.BASE_URL)).content,
        **changes,
    )
    party.sent = {"state": "af0ifjsldkj", "nonce": "n-0S6_WzA2Mj~0123456"}
    return party


def share(client: Client, interaction_url: str) -> Any:
    return client.post(interaction_url, {"decision": "share"})


@pytest.fixture
def undelivered(client: Client, interaction_url: str, receiver: Receiver) -> str:
    """As `interaction_url`, after a yes that the application did not accept."""
    receiver.status = 500
    share(client, interaction_url)
    return interaction_url


# --- Delivered --------------------------------------------------------------------------------------------


def test_a_token_is_posted_and_the_browser_sent_where_the_application_says(
    client: Client, interaction_url: str, bank: RelyingParty, receiver: Receiver, settings: Any
) -> None:
    receiver.redirects_to(HERE)

    response = share(client, interaction_url)

    assert (response.status_code, response.headers["Location"]) == (303, FOLLOWED)
    assert response.headers["Cache-Control"] == "no-store"
    (posted,) = receiver.posted
    assert posted.path == "/answers"
    assert posted.headers["content-type"] == "application/x-www-form-urlencoded"
    assert "cookie" not in posted.headers
    party = verifier(bank, settings)
    assert party.verify(party.read_posted(posted.body))["given_name"] == "Alice"


def test_declining_is_posted_with_the_state(
    client: Client, interaction_url: str, bank: RelyingParty, receiver: Receiver, settings: Any
) -> None:
    receiver.redirects_to(HERE)

    response = client.post(interaction_url, {"decision": "decline"})

    assert response.headers["Location"] == FOLLOWED
    answer = verifier(bank, settings).read_posted(receiver.posted[0].body)
    assert (answer.error, answer.state) == ("access_denied", "af0ifjsldkj")


def test_leaving_is_posted_as_declining_is(client: Client, interaction_url: str, receiver: Receiver) -> None:
    page = client.get(f"{interaction_url}leave/", follow=True).content.decode()

    assert "error=access_denied" in receiver.posted[0].body
    assert "Nothing was shared." in page


@pytest.mark.parametrize("response_mode", ["direct_post", "direct_post.jwt"])
def test_several_presentations_are_posted_together(
    client: Client, bank: RelyingParty, asks: Any, receiver: Receiver, settings: Any, response_mode: str
) -> None:
    RelyingParty.objects.update(wire_format=RelyingParty.WireFormat.OPENID4VP_1_0)
    key, metadata = encryption()
    two = with_query(query(path("given_name"), id="c"), query(path("family_name"), id="e"))
    asks(response_mode=response_mode, client_metadata=json.dumps(metadata), **two)

    share(client, url_of_interaction())

    party = verifier(bank, settings, wire_format="openid4vp-1.0")
    answer = party.read_posted(
        receiver.posted[0].body, **({"key": key} if response_mode == "direct_post.jwt" else {})
    )
    assert {id: disclosed(token) for id, (token,) in json.loads(str(answer.vp_token)).items()} == {
        "c": {"given_name"},
        "e": {"family_name"},
    }


KEYS = {
    "left out, so A128GCM": (None, "A128GCM"),
    "both, so A256GCM": (["A128GCM", "A256GCM"], "A256GCM"),
    "with one that is unknown": (["XC20P", "A128GCM"], "A128GCM"),
}


@pytest.mark.parametrize("wire_format", ["string", "openid4vp-1.0"])
@pytest.mark.parametrize(("methods", "chosen"), KEYS.values(), ids=KEYS.keys())
def test_direct_post_jwt_is_encrypted_to_the_key_of_the_request(
    client: Client,
    bank: RelyingParty,
    asks: Any,
    receiver: Receiver,
    settings: Any,
    methods: Any,
    chosen: str,
    wire_format: str,
) -> None:
    RelyingParty.objects.update(wire_format=wire_format)
    key, metadata = encryption(methods)
    receiver.redirects_to(HERE)
    asks(response_mode="direct_post.jwt", client_metadata=json.dumps(metadata))

    response = share(client, url_of_interaction())

    assert response.headers["Location"] == FOLLOWED
    header = tests.relying_party.read_json(receiver.posted[0].body.removeprefix("response=").split(".")[0])
    assert header["enc"] == chosen
    party = verifier(bank, settings, wire_format=wire_format)
    party.verify(party.read_posted(receiver.posted[0].body, key=key))


def encryption(methods: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
    """A new private key, and client metadata with its public key."""
    key = ECKey.generate_key("P-256", {"kid": "fresh", "use": "enc", "alg": "ECDH-ES"})
    metadata: dict[str, Any] = {"jwks": {"keys": [key.as_dict(private=False)]}}
    if methods:
        metadata["encrypted_response_enc_values_supported"] = methods
    return key.as_dict(private=True), metadata


def test_direct_post_jwt_is_encrypted_to_a_registered_key_when_the_request_brings_none(
    client: Client, bank: RelyingParty, asks: Any, receiver: Receiver, settings: Any
) -> None:
    key, metadata = encryption()
    signing = {"kid": "signs", **public_jwk(new_key())}
    bank.jwks = {"keys": [signing, *metadata["jwks"]["keys"]]}
    bank.full_clean()
    bank.save()
    asks(response_mode="direct_post.jwt")

    share(client, url_of_interaction())

    party = verifier(bank, settings)
    party.verify(party.read_posted(receiver.posted[0].body, key=key))
    assert public_keys.read(bank.jwks).keys() == {"signs"}, "nobody signs with the other one"


def test_operators_see_whether_an_answer_arrived_and_nothing_of_it(
    client: Client, undelivered: str, receiver: Receiver, admin_client: Client
) -> None:
    page = f"/admin/presentation/interaction/{Interaction.objects.get().pk}/change/"
    waiting = admin_client.get(page).content.decode()
    receiver.status = 200

    client.post(f"{undelivered}delivery/", {"choice": "again"})
    arrived = admin_client.get(page).content.decode()

    assert "has not arrived; tried 1 times" in waiting
    assert "arrived at" in arrived
    assert "af0ifjsldkj" not in waiting + arrived


# --- The consent page -------------------------------------------------------------------------------------


def test_the_consent_page_says_who_gets_the_answer_and_how(client: Client, asks: Any) -> None:
    page = client.get(address_of_page(asks()))

    text = page.content.decode()
    assert "Your answer is sent directly to <bdi>127.0.0.1</bdi>." in text
    assert "Share these details" in text
    assert "straight back" not in text
    assert "form-action" not in page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]


# --- Not delivered, and retried ----------------------------------------------------------------------------


def test_an_answer_that_did_not_arrive_is_kept_and_the_very_same_sent_again(
    client: Client, interaction_url: str, receiver: Receiver
) -> None:
    receiver.status = 503
    page = client.post(interaction_url, {"decision": "share"}, follow=True)
    assert "did not accept your answer" in page.content.decode()
    assert "Try again" in page.content.decode()
    receiver.status = 200
    receiver.redirects_to(HERE)

    again = client.post(f"{interaction_url}delivery/", {"choice": "again"})

    assert again.headers["Location"] == FOLLOWED
    assert len({posted.body for posted in receiver.posted}) == 1
    assert len(receiver.posted) == 2


def test_what_is_kept_is_sealed_and_gone_once_delivered(
    client: Client, undelivered: str, receiver: Receiver
) -> None:
    kept = bytes(Delivery.objects.get().sealed_body)
    receiver.status = 200

    client.post(f"{undelivered}delivery/", {"choice": "again"})

    assert len(kept) > 1000
    assert b"vp_token" not in kept
    assert bytes(Delivery.objects.get().sealed_body) == b""


def test_reloading_and_second_tabs_deliver_nothing_more(
    client: Client, interaction_url: str, receiver: Receiver
) -> None:
    receiver.redirects_to(HERE)
    share(client, interaction_url)

    reloaded = share(client, interaction_url)
    looked_at = client.get(interaction_url)
    page = client.get(f"{interaction_url}delivery/")
    tried = client.post(f"{interaction_url}delivery/", {"choice": "again"})

    for response in (page, tried):
        assert response.headers["Location"] == FOLLOWED
    for response in (reloaded, looked_at):
        assert response.headers["Location"] in (FOLLOWED, f"{interaction_url}delivery/")
    assert len(receiver.posted) == 1


def test_an_answered_request_that_is_opened_again_posts_nothing(
    client: Client, asks: Any, receiver: Receiver
) -> None:
    asks()
    share(client, url_of_interaction())

    again = asks()

    assert again.headers["Location"] == f"{url_of_interaction()}delivery/"
    assert "has your answer" in client.get(again.headers["Location"]).content.decode()
    assert len(receiver.posted) == 1


def test_giving_up_forgets_the_answer(client: Client, undelivered: str, receiver: Receiver) -> None:
    page = client.post(f"{undelivered}delivery/", {"choice": "give_up"}, follow=True).content.decode()
    again = client.post(f"{undelivered}delivery/", {"choice": "again"}, follow=True)

    assert bytes(Delivery.objects.get().sealed_body) == b""
    assert "They may have received it all the same." in page
    assert 'href="https://bank.example/"' in page
    assert "Try again" not in again.content.decode()
    assert len(receiver.posted) == 1


def test_an_expired_answer_is_not_sent_any_more_and_forgotten(
    client: Client, undelivered: str, receiver: Receiver
) -> None:
    Delivery.objects.update(expires_at=timezone.now())
    receiver.status = 200

    client.post(f"{undelivered}delivery/", {"choice": "again"})
    forgotten = deliveries.forget_expired(now=timezone.now(), batch=1)

    assert len(receiver.posted) == 1
    assert forgotten == 1
    assert bytes(Delivery.objects.get().sealed_body) == b""
    assert deliveries.forget_expired(now=timezone.now(), batch=1) == 0


@pytest.mark.parametrize(("before", "posted"), [(timedelta(microseconds=1), 2), (timedelta(0), 1)])
def test_an_answer_is_not_posted_from_the_instant_at_which_it_expires(
    undelivered: str, receiver: Receiver, before: timedelta, posted: int
) -> None:
    deliveries.deliver(Interaction.objects.get(), now=Delivery.objects.get().expires_at - before)

    assert len(receiver.posted) == posted


def test_where_the_application_sent_the_browser_is_forgotten_too(
    client: Client, interaction_url: str, receiver: Receiver
) -> None:
    receiver.redirects_to(HERE)
    share(client, interaction_url)
    Delivery.objects.update(expires_at=timezone.now())

    page = client.get(f"{interaction_url}delivery/")
    deliveries.forget_expired(now=timezone.now(), batch=10)

    assert "has your answer" in page.content.decode()
    assert bytes(Delivery.objects.get().sealed_onward) == b""


def test_tries_come_to_an_end(client: Client, undelivered: str, receiver: Receiver) -> None:
    for _ in range(deliveries.MOST_TRIES + 2):
        page = client.post(f"{undelivered}delivery/", {"choice": "again"}, follow=True)

    assert len(receiver.posted) == deliveries.MOST_TRIES
    assert "Try again" not in page.content.decode()


def test_when_nothing_was_sent_the_receipt_says_so(
    client: Client, asks: Any, bank: RelyingParty, alice: Wallet
) -> None:
    nobody = "http://127.0.0.1:9/answers"
    ResponseURI.objects.create(relying_party=bank, uri=nobody)
    asks(response_uri=nobody)
    interaction_url = url_of_interaction()
    page = client.post(interaction_url, {"decision": "share"}, follow=True)
    assert "We could not reach" in page.content.decode()

    gone = client.post(f"{interaction_url}delivery/", {"choice": "give_up"}, follow=True).content.decode()

    assert "Nothing was shared." in gone
    assert last_shared(alice, bank.client_id) is None
    assert "You said yes, but nothing was shared" in client.get("/wallet/history/").content.decode()


def test_when_it_may_have_arrived_the_receipt_says_shared(
    client: Client, undelivered: str, bank: RelyingParty, alice: Wallet, receiver: Receiver
) -> None:
    client.post(f"{undelivered}delivery/", {"choice": "give_up"})

    assert last_shared(alice, bank.client_id) is not None


@pytest.mark.parametrize("status", [201, 204, 302, 400, 404, 429, 500])
def test_only_status_200_is_delivered(
    client: Client, interaction_url: str, receiver: Receiver, status: int
) -> None:
    receiver.status, receiver.body = status, b""
    receiver.headers = {"Location": "https://bank.example/elsewhere"} if status == 302 else {}

    share(client, interaction_url)

    assert Delivery.objects.get().delivered_at is None
    assert len(receiver.posted) == 1


def test_no_transaction_is_open_while_the_relying_party_is_called(
    client: Client, interaction_url: str, receiver: Receiver
) -> None:
    """Another connection can write the row during the post, and sees the interaction as answered."""
    seen: list[Any] = []

    def look() -> None:
        seen.append(Interaction.objects.values_list("outcome", flat=True).get())
        seen.append(Delivery.objects.update(tries=7))
        connection.close()

    receiver.before = look

    share(client, interaction_url)

    assert seen == ["token", 1]


@pytest.mark.parametrize("answer", ["status", "redirect", "two media types"])
def test_who_answers_otherwise_did_not_accept_it_and_who_does_not_was_not_reached(
    client: Client, asks: Any, bank: RelyingParty, interaction_url: str, receiver: Receiver, answer: str
) -> None:
    if answer == "two media types":
        receiver.redirects_to(HERE)
        receiver.headers, receiver.content_type = {"Content-Type": "application/json"}, "text/html"
    else:
        receiver.status = 202 if answer == "status" else 302
    nobody = "http://127.0.0.1:9/answers"
    ResponseURI.objects.create(relying_party=bank, uri=nobody)

    not_accepted = client.post(interaction_url, {"decision": "share"}, follow=True).content.decode()
    asks(response_uri=nobody, nonce="another-nonce-0123456")
    not_reached = client.post(url_of_interaction(), {"decision": "share"}, follow=True).content.decode()

    assert "<bdi>Acme Bank</bdi> did not accept your answer" in not_accepted
    assert "We could not reach" not in not_accepted
    assert "We could not reach <bdi>Acme Bank</bdi>" in not_reached
    assert "did not accept" not in not_reached
    assert "Try again" in not_accepted
    assert "Try again" in not_reached


def test_an_address_that_is_gone_ends_the_tries(
    client: Client, interaction_url: str, receiver: Receiver, admin_client: Client
) -> None:
    receiver.status = 410

    page = client.post(interaction_url, {"decision": "share"}, follow=True).content.decode()
    client.post(f"{interaction_url}delivery/", {"choice": "again"})

    assert "did not accept your answer" in page
    assert "it is not kept any longer" in page
    assert "Try again" not in page
    assert len(receiver.posted) == 1
    assert bytes(Delivery.objects.get().sealed_body) == b""
    interaction = Interaction.objects.get()
    operators = admin_client.get(f"/admin/presentation/interaction/{interaction.pk}/change/")
    assert "has not arrived and is gone; tried 1 times" in operators.content.decode()


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("asked_for", ["20", "a date", "86400"])
def test_who_asks_to_wait_is_not_tried_again_before(
    client: Client, interaction_url: str, receiver: Receiver, status: int, asked_for: str
) -> None:
    in_20_seconds = format_datetime(timezone.now() + timedelta(seconds=21), usegmt=True)
    receiver.status = status
    receiver.headers["Retry-After"] = in_20_seconds if asked_for == "a date" else asked_for
    longest = 120 if asked_for == "86400" else 21

    page = client.post(interaction_url, {"decision": "share"}, follow=True).content.decode()
    client.post(f"{interaction_url}delivery/", {"choice": "again"})

    assert "asked to wait for" in page
    assert "Try again" not in page
    assert "Look again" in page
    assert len(receiver.posted) == 1
    kept = Delivery.objects.get()
    assert 1 <= deliveries.held_for(kept, now=timezone.now()) <= longest
    Delivery.objects.update(held_until=timezone.now())
    receiver.status = 200
    assert "Try again" in client.get(f"{interaction_url}delivery/").content.decode()
    client.post(f"{interaction_url}delivery/", {"choice": "again"})
    assert Delivery.objects.get().delivered_at is not None


def test_who_is_to_wait_may_still_give_up(client: Client, interaction_url: str, receiver: Receiver) -> None:
    receiver.status, receiver.headers = 503, {"Retry-After": "60"}
    share(client, interaction_url)

    client.post(f"{interaction_url}delivery/", {"choice": "give_up"})

    assert bytes(Delivery.objects.get().sealed_body) == b""


# --- Webhooks about posted answers ------------------------------------------------------------------------


def told() -> list[str]:
    return list(WebhookEvent.objects.order_by("created_at").values_list("type", flat=True))


@pytest.mark.parametrize(
    ("decision", "kind"), [("share", "presentation.completed"), ("decline", "presentation.denied")]
)
def test_the_event_is_inserted_with_the_delivery_and_not_before(
    client: Client, interaction_url: str, bank: RelyingParty, receiver: Receiver, decision: str, kind: str
) -> None:
    opted_in(bank)
    receiver.status = 500
    client.post(interaction_url, {"decision": decision})
    assert told() == []
    receiver.status = 200

    client.post(f"{interaction_url}delivery/", {"choice": "again"})
    client.post(f"{interaction_url}delivery/", {"choice": "again"})

    assert told() == [kind]
    data = json.loads(WebhookEvent.objects.get().body)["data"]
    assert data.get("error") == (None if decision == "share" else "access_denied")


def test_an_undelivered_answer_causes_no_event(
    client: Client, interaction_url: str, bank: RelyingParty, receiver: Receiver
) -> None:
    opted_in(bank)
    receiver.status = 500
    share(client, interaction_url)

    client.post(f"{interaction_url}delivery/", {"choice": "give_up"})

    assert told() == []


def test_killed_between_the_post_and_the_commit_it_inserts_one_event(
    client: Client, interaction_url: str, bank: RelyingParty, receiver: Receiver
) -> None:
    def kill(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith("INSERT") and "_webhookevent" in sql:
            raise KilledError
        return execute(sql, params, many, context)

    opted_in(bank)
    with connection.execute_wrapper(kill), pytest.raises(KilledError):
        share(client, interaction_url)
    assert (told(), Delivery.objects.get().delivered_at) == ([], None)
    Delivery.objects.update(taken_until=timezone.now())

    client.post(f"{interaction_url}delivery/", {"choice": "again"})

    assert told() == ["presentation.completed"]
    assert len({posted.body for posted in receiver.posted}) == 1


class KilledError(BaseException):
    """Simulates that the process dies at this point."""


def test_killed_before_it_began_to_post_the_page_says_that_nothing_was_sent(
    client: Client, interaction_url: str, receiver: Receiver
) -> None:
    def kill(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith("UPDATE") and "_delivery" in sql:
            raise KilledError
        return execute(sql, params, many, context)

    with connection.execute_wrapper(kill), pytest.raises(KilledError):
        share(client, interaction_url)

    page = client.get(interaction_url, follow=True).content.decode()
    assert "Your answer has not been sent yet" in page
    assert "We could not reach" not in page
    assert "Try again" in page
    assert receiver.posted == []
    given_up = client.post(f"{interaction_url}delivery/", {"choice": "give_up"}, follow=True).content.decode()
    assert "Your answer was not sent" in given_up
    assert "Nothing was shared." in given_up


def test_killed_at_the_second_try_the_page_does_not_speak_of_the_first(
    client: Client, interaction_url: str, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kill(*_: Any, **__: Any) -> None:
        raise KilledError

    receiver.status = 500
    share(client, interaction_url)
    monkeypatch.setattr(posting, "post", kill)
    with pytest.raises(KilledError):
        client.post(f"{interaction_url}delivery/", {"choice": "again"})
    Delivery.objects.update(taken_until=timezone.now())

    page = client.get(f"{interaction_url}delivery/").content.decode()

    assert "did not accept your answer" not in page
    assert "did not confirm your answer" in page


def test_an_event_inserted_with_the_answer_is_not_inserted_with_the_delivery(
    client: Client, interaction_url: str, bank: RelyingParty
) -> None:
    opted_in(bank)
    now, interaction = timezone.now(), Interaction.objects.get()
    already = {"relying_party": bank, "type": "presentation.completed", "subject": str(interaction.pk)}
    WebhookEvent.objects.create(**already, created_at=now, due_at=now, give_up_at=now)

    share(client, interaction_url)

    assert told() == ["presentation.completed"]
    assert Delivery.objects.get().delivered_at is not None


@pytest.mark.postgresql
def test_racing_tries_insert_one_event(
    client: Client, interaction_url: str, bank: RelyingParty, receiver: Receiver
) -> None:
    opted_in(bank)
    receiver.status = 500
    share(client, interaction_url)
    receiver.status = 200

    all_at_once(
        client, 6, lambda racer: racer.post(f"{interaction_url}delivery/", {"choice": "again"}).status_code
    )

    assert told() == ["presentation.completed"]


# --- Expired without an answer ----------------------------------------------------------------------------


def expired() -> None:
    Interaction.objects.update(expires_at=timezone.now())
    Consent.objects.update(expires_at=timezone.now())


@pytest.mark.parametrize("page", ["", "leave/", "delivery/"])
def test_the_first_visit_after_the_expiry_notifies_the_relying_party(
    client: Client, interaction_url: str, bank: RelyingParty, receiver: Receiver, settings: Any, page: str
) -> None:
    receiver.redirects_to(HERE)
    expired()

    first, second = client.get(f"{interaction_url}{page}"), client.get(f"{interaction_url}{page}")

    (posted,) = receiver.posted
    answer = verifier(bank, settings).read_posted(posted.body)
    assert (answer.error, answer.state) == ("access_denied", "af0ifjsldkj")
    assert first.headers["Location"] == FOLLOWED
    assert second.headers["Location"] in (FOLLOWED, f"{interaction_url}delivery/")
    assert Interaction.objects.get().error == "access_denied"


@pytest.mark.parametrize("decision", ["share", "decline"])
def test_the_page_says_that_a_decision_came_too_late(
    client: Client, interaction_url: str, receiver: Receiver, decision: str
) -> None:
    expired()

    page = client.post(interaction_url, {"decision": decision}, follow=True).content.decode()

    assert "This request has expired" in page
    assert "has been told" in page
    assert "Nothing was shared" in page
    assert "You can close this page" not in page
    assert "error=access_denied" in receiver.posted[0].body
    assert Consent.objects.get().decision == Consent.Decision.ASKED


def test_a_yes_that_expired_before_it_was_answered_shares_nothing_and_says_so(
    client: Client, interaction_url: str, bank: RelyingParty, alice: Wallet, receiver: Receiver
) -> None:
    decisions.grant(Consent.objects.get().id, alice, now=timezone.now())
    expired()

    client.get(interaction_url)

    assert "error=access_denied" in receiver.posted[0].body
    assert last_shared(alice, bank.client_id) is None


def test_another_browser_causes_no_notification(interaction_url: str, receiver: Receiver) -> None:
    expired()

    for page in ("", "leave/", "delivery/"):
        assert Client().get(f"{interaction_url}{page}").status_code == 410
    assert receiver.posted == []
    assert Interaction.objects.get().outcome == ""


def test_a_suspended_relying_party_is_not_told_that_a_request_expired(
    client: Client, interaction_url: str, bank: RelyingParty, receiver: Receiver
) -> None:
    expired()
    bank.state, bank.suspension_reason = RelyingParty.State.SUSPENDED, "complaints"
    bank.save()

    response = client.get(interaction_url)

    assert response.status_code == 410
    assert receiver.posted == []


@pytest.mark.postgresql
def test_of_racing_visits_after_it_expired_one_tells_the_application(
    client: Client, interaction_url: str, receiver: Receiver
) -> None:
    receiver.redirects_to(HERE)
    expired()

    answers = all_at_once(client, 6, lambda racer: racer.get(interaction_url).headers.get("Location"))

    assert len(receiver.posted) == 1
    assert answers.count(FOLLOWED) >= 1
    assert set(answers) <= {FOLLOWED, f"{interaction_url}delivery/"}


# --- Responses of the relying party -----------------------------------------------------------------------

NOT_FOLLOWED = {
    "a script": b'{"redirect_uri": "javascript:alert(1)"}',
    "a script in other letters": b'{"redirect_uri": "JavaScript:alert(1)"}',
    "data": b'{"redirect_uri": "data:text/html,hello"}',
    "a file": b'{"redirect_uri": "file:///etc/passwd"}',
    "plain http": b'{"redirect_uri": "http://bank.example/welcome"}',
    "http to this machine, which it has not registered": b'{"redirect_uri": "http://127.0.0.1/welcome"}',
    "an app's scheme that it has not registered": b'{"redirect_uri": "com.example.app:/welcome"}',
    "a path here": b'{"redirect_uri": "/admin/"}',
    "another host without a scheme": b'{"redirect_uri": "//evil.example/"}',
    "a line break": b'{"redirect_uri": "https://bank.example/\\r\\nSet-Cookie: a=b"}',
    "a tab": b'{"redirect_uri": "https://bank.example/\\tx"}',
    "a backslash": b'{"redirect_uri": "https://bank.example\\\\@evil.example/"}',
    "user information": b'{"redirect_uri": "https://bank.example@evil.example/"}',
    "a letter that is none of a URI": '{"redirect_uri": "https://bänk.example/"}'.encode(),
    "a list": b'{"redirect_uri": ["https://bank.example/"]}',
    "nothing": b'{"redirect_uri": null}',
    "twice": b'{"redirect_uri": "https://bank.example/", "redirect_uri": "https://evil.example/"}',
    "no object": b'["redirect_uri"]',
    "no JSON": b"<html>",
    "no UTF-8": b'{"redirect_uri": "https://bank.example/\xff"}',
    "an endless address": b'{"redirect_uri": "https://bank.example/' + b"a" * 5000 + b'"}',
    "endless depth": b"[" * 60_000,
}


@pytest.mark.parametrize("body", NOT_FOLLOWED.values(), ids=NOT_FOLLOWED.keys())
def test_an_answer_that_may_not_be_followed_leads_to_the_page_that_says_done(
    client: Client, interaction_url: str, receiver: Receiver, body: bytes
) -> None:
    receiver.body = body

    response = share(client, interaction_url)

    assert response.headers["Location"] == f"{interaction_url}delivery/"
    assert Delivery.objects.get().delivered_at is not None
    assert "has your answer" in client.get(f"{interaction_url}delivery/").content.decode()


def test_a_redirect_uri_counts_only_in_json(client: Client, interaction_url: str, receiver: Receiver) -> None:
    receiver.redirects_to(HERE)
    receiver.content_type = "text/html"

    assert share(client, interaction_url).headers["Location"] == f"{interaction_url}delivery/"


def test_an_endless_answer_counts_as_none(client: Client, interaction_url: str, receiver: Receiver) -> None:
    receiver.body = b'{"redirect_uri": "https://bank.example/", "more": "' + b"a" * 200_000 + b'"}'

    assert share(client, interaction_url).headers["Location"] == f"{interaction_url}delivery/"
    assert Delivery.objects.get().delivered_at is None


def test_a_receiver_that_keeps_silent_is_not_waited_for(
    client: Client, interaction_url: str, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = threading.Event()
    receiver.before = lambda: answered.wait(10) and None
    monkeypatch.setattr(calls, "DONE_WITHIN", 0.3)

    response = share(client, interaction_url)

    assert not answered.is_set()
    answered.set()
    assert response.headers["Location"] == f"{interaction_url}delivery/"
    assert Delivery.objects.get().left_here is True
    assert "Try again" in client.get(f"{interaction_url}delivery/").content.decode()


@pytest.mark.parametrize(
    "uri",
    [
        "https://bank.example/cb#response_code=091535f699ea575c7937fa5f0f454aee",
        "https://elsewhere.example/",
        "com.example.app:/welcome?response_code=1",
        "com.example.app://?response_code=1",
        "https://bank.example/cb?filter=*&response_code=" + "a" * 2000,
    ],
)
def test_https_and_registered_schemes_are_followed(
    client: Client, interaction_url: str, bank: RelyingParty, receiver: Receiver, uri: str
) -> None:
    bank.redirect_uris.create(uri="com.example.app:/callback")
    receiver.redirects_to(uri)

    assert share(client, interaction_url).headers["Location"] == (uri if "#" in uri else f"{uri}#")


def test_a_scheme_that_is_removed_after_the_delivery_is_not_followed_any_more(
    client: Client, interaction_url: str, bank: RelyingParty, receiver: Receiver
) -> None:
    app = bank.redirect_uris.create(uri="com.example.app:/callback")
    receiver.redirects_to("com.example.app:/welcome")
    assert share(client, interaction_url).headers["Location"] == "com.example.app:/welcome#"

    app.delete()

    page = client.get(f"{interaction_url}delivery/")
    assert (page.status_code, "Location" in page.headers) == (200, False)
    assert "has your answer" in page.content.decode()


# --- Invalid requests -------------------------------------------------------------------------------------

UNTRUSTED = {
    "no response_uri": {"response_uri": None},
    "one that is not registered": {"response_uri": "https://evil.example/answers"},
    "a registered redirect URI": {"response_uri": "https://bank.example/callback"},
    "another port on this machine": {"response_uri": "http://127.0.0.1:1/answers"},
    "one that continues the registered one": {"response_uri": "{uri}/more"},
    "one with a query": {"response_uri": "{uri}?x=1"},
}


@pytest.mark.parametrize("changes", UNTRUSTED.values(), ids=UNTRUSTED.keys())
def test_without_a_registered_response_uri_nothing_is_posted_anywhere(
    asks: Any, receiver: Receiver, changes: dict[str, Any]
) -> None:
    uri = changes["response_uri"]

    response = asks(response_uri=uri and uri.replace("{uri}", receiver.uri))

    assert response.status_code == 400
    assert receiver.posted == []
    assert not Interaction.objects.exists()


def test_the_response_uri_of_another_relying_party_is_not_registered(asks: Any, receiver: Receiver) -> None:
    with listening() as other:
        shop = register("Corner Shop", "https://shop.example/callback")
        ResponseURI.objects.create(relying_party=shop, uri=other.uri)

        response = asks(response_uri=other.uri)

        assert response.status_code == 400
        assert other.posted == []


@pytest.mark.parametrize("mode", ["direct_post", "direct_post.jwt"])
@pytest.mark.parametrize("response_uri", [None, "", "x" * 501])
def test_without_a_response_uri_a_good_redirect_uri_learns_of_the_mistake(
    client: Client, bank: RelyingParty, mode: str, response_uri: str | None
) -> None:
    """A redirect URI with these modes is `invalid_request` (OpenID4VP 1.0 §8.2), not an untrusted request."""
    wrong = asked(bank, response_mode=mode, response_uri=response_uri)
    home = client.get(PATH, wrong).headers["Location"]
    elsewhere = client.get(PATH, wrong | {"redirect_uri": "https://evil.example/"})

    assert home.startswith("https://bank.example/callback#")
    assert fragment(home)["error"] == "invalid_request"
    assert (elsewhere.status_code, "Location" in elsewhere.headers) == (400, False)
    assert not Interaction.objects.exists()


def test_an_unknown_response_mode_is_reported_to_the_response_uri(
    client: Client, bank: RelyingParty, receiver: Receiver
) -> None:
    for mode in ("query", "x" * 101):
        client.get(PATH, asked(bank, redirect_uri=None, response_uri=receiver.uri, response_mode=mode))
    page = client.get(PATH, asked(bank, redirect_uri=None, response_uri=receiver.uri))

    assert [parse_qs(told.body)["error"] for told in receiver.posted] == [["invalid_request"]] * 2
    assert (page.status_code, "redirect_uri is missing" in page.content.decode()) == (400, True)


def test_a_response_uri_does_not_make_a_redirect_uri(
    client: Client, bank: RelyingParty, receiver: Receiver
) -> None:
    response = client.get(PATH, asked(bank, redirect_uri=receiver.uri))

    assert response.status_code == 400


def test_the_port_of_a_response_uri_is_not_free(asks: Any, bank: RelyingParty) -> None:
    """Unlike a loopback redirect URI, because no browser and no application on the device is involved."""
    ResponseURI.objects.filter(relying_party=bank).update(uri="http://127.0.0.1:1/answers")

    response = asks(response_uri="http://127.0.0.1:2/answers")

    assert response.status_code == 400
    assert "response_uri must equal a registered response URI" in response.content.decode()


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "with a redirect_uri": ({"redirect_uri": "https://bank.example/callback"}, "invalid_request"),
    "without a nonce": ({"nonce": None}, "invalid_request"),
    "an unknown scope": ({"scope": "everything"}, "invalid_scope"),
    "another response type": ({"response_type": "code"}, "unsupported_response_type"),
    "transaction data of no known type": ({"transaction_data": "e30"}, "invalid_transaction_data"),
    "encrypted to nobody": ({"response_mode": "direct_post.jwt"}, "invalid_request"),
}


@pytest.mark.parametrize(("changes", "error"), WRONG.values(), ids=WRONG.keys())
def test_an_error_is_posted_and_shown_to_the_holder(
    asks: Any, bank: RelyingParty, receiver: Receiver, settings: Any, changes: dict[str, Any], error: str
) -> None:
    response = asks(**changes)

    assert response.status_code == 400
    assert "We have told them what is wrong with it" in response.content.decode()
    answer = verifier(bank, settings).read_posted(receiver.posted[0].body)
    assert (answer.error, answer.state) == (error, "af0ifjsldkj")
    assert not Interaction.objects.exists()


def test_after_a_wrong_request_the_browser_goes_where_the_application_says(
    asks: Any, receiver: Receiver
) -> None:
    receiver.redirects_to(HERE)

    assert asks(nonce=None).headers["Location"] == FOLLOWED
    receiver.redirects_to(f"{HERE}#own")
    assert asks(nonce=None).headers["Location"] == f"{HERE}#own"


def test_an_invalid_request_that_cannot_be_reported_leads_to_a_page(asks: Any, receiver: Receiver) -> None:
    receiver.status = 500

    response = asks(nonce=None)

    assert response.status_code == 400
    assert "We could not tell them what is wrong" in response.content.decode()


def test_a_wrong_request_that_no_thread_can_post_now_is_posted_when_it_comes_again(
    asks: Any, bank: RelyingParty, receiver: Receiver
) -> None:
    with waiting_for(bank.pk), waiting_for(bank.pk):
        response = asks(nonce=None)

    assert (response.status_code, response.headers["Retry-After"]) == (503, "1")
    assert receiver.posted == []
    assert asks(nonce=None).status_code == 400
    assert len(receiver.posted) == 1


@pytest.mark.usefixtures("windows_just_begun")
def test_wrong_requests_cannot_be_made_a_flood(asks: Any, receiver: Receiver) -> None:
    for _ in range(posting.REPORTS.most):
        posting.REPORTS.take("127.0.0.1", now=timezone.now())

    response = asks(nonce=None)

    assert response.status_code == 400
    assert receiver.posted == []


# --- Attacks ----------------------------------------------------------------------------------------------


def test_another_browser_can_neither_look_nor_try_again(
    undelivered: str, receiver: Receiver, alice: Wallet, sign_in: SignIn
) -> None:
    stranger = Client()
    sign_in(alice, browser=stranger)

    for response in (
        stranger.get(f"{undelivered}delivery/"),
        stranger.post(f"{undelivered}delivery/", {"choice": "again"}),
        stranger.post(f"{undelivered}delivery/", {"choice": "give_up"}),
        stranger.get(undelivered),
    ):
        assert response.status_code == 410
    assert len(receiver.posted) == 1
    assert bytes(Delivery.objects.get().sealed_body) != b""


def test_another_browser_does_not_learn_where_the_application_sent_this_one(
    client: Client, interaction_url: str, receiver: Receiver
) -> None:
    """With the response code an attacker could take over the session at the relying party."""
    receiver.redirects_to(HERE)
    share(client, interaction_url)

    response = Client().get(f"{interaction_url}delivery/")

    assert response.status_code == 410
    assert "response_code" not in response.content.decode()


def test_trying_again_takes_a_form_of_our_page(client: Client, undelivered: str, receiver: Receiver) -> None:
    careful = Client(enforce_csrf_checks=True)
    careful.cookies = client.cookies.copy()

    response = careful.post(f"{undelivered}delivery/", {"choice": "again"})

    assert response.status_code == 403
    assert len(receiver.posted) == 1


def test_an_interaction_that_is_not_answered_has_no_delivery(client: Client, interaction_url: str) -> None:
    assert client.get(f"{interaction_url}delivery/").status_code == 410
    assert client.post(f"{interaction_url}delivery/", {"choice": "again"}).status_code == 410


def test_suspended_meanwhile_nothing_is_posted_any_more(
    client: Client, undelivered: str, bank: RelyingParty, receiver: Receiver
) -> None:
    bank.state, bank.suspension_reason = RelyingParty.State.SUSPENDED, "complaints"
    bank.save()

    client.post(f"{undelivered}delivery/", {"choice": "again"})

    assert len(receiver.posted) == 1
    assert bytes(Delivery.objects.get().sealed_body) == b""


@pytest.mark.parametrize("change", ["taken back", "suspended", "about to close"])
def test_what_is_not_valid_any_more_is_not_posted_again(
    client: Client, undelivered: str, alice: Wallet, receiver: Receiver, change: str
) -> None:
    receiver.status = 200
    now, consent = timezone.now(), Consent.objects.get()
    if change == "taken back":
        client.post(f"/wallet/history/{consent.id}/invalidate/")
    elif change == "suspended":
        Wallet.objects.filter(pk=alice.pk).update(state=Wallet.State.SUSPENDED)
    else:
        closures.ask(alice, now=now)

    client.post(f"{undelivered}delivery/", {"choice": "again"})

    assert len(receiver.posted) == 1
    assert bytes(Delivery.objects.get().sealed_body) == b""


def test_an_error_is_posted_again_though_nothing_is_valid(
    client: Client, interaction_url: str, alice: Wallet, receiver: Receiver
) -> None:
    receiver.status = 500
    client.post(interaction_url, {"decision": "decline"})
    closures.ask(alice, now=timezone.now())
    receiver.status = 200

    client.post(f"{interaction_url}delivery/", {"choice": "again"})

    assert len(receiver.posted) == 2


@pytest.mark.parametrize("when", ["before the decision", "before trying again"])
def test_a_response_uri_removed_during_the_flow_gets_no_answer(
    client: Client, interaction_url: str, receiver: Receiver, when: str
) -> None:
    if when == "before trying again":
        receiver.status = 500
        share(client, interaction_url)
    before = len(receiver.posted)
    ResponseURI.objects.update(uri="https://bank.example/another")

    share(client, interaction_url)
    client.post(f"{interaction_url}delivery/", {"choice": "again"})

    assert len(receiver.posted) == before


PRIVATE = [
    "https://localhost/a",
    "https://127.0.0.1/a",
    "https://10.0.0.1/a",
    "https://169.254.169.254/a",
    "https://[::1]/a",
]


@pytest.mark.parametrize("uri", PRIVATE)
def test_hosts_that_are_not_public_are_never_connected_to(
    client: Client, asks: Any, bank: RelyingParty, uri: str
) -> None:
    ResponseURI.objects.create(relying_party=bank, uri=uri)
    asks(response_uri=uri)

    page = client.post(url_of_interaction(), {"decision": "share"}, follow=True)

    assert "We could not reach" in page.content.decode()
    assert Delivery.objects.get().left_here is False


@pytest.mark.parametrize("believed", [True, False])
def test_an_answer_is_posted_only_to_a_server_with_a_trusted_certificate(
    client: Client, asks: Any, bank: RelyingParty, monkeypatch: pytest.MonkeyPatch, believed: bool
) -> None:
    body = json.dumps({"redirect_uri": HERE}).encode()
    with far_end(answers(body, "Content-Type: application/json")) as end:
        stranger = Outbound(resolve=lambda *_: [end.address], allowed=lambda address: True)
        monkeypatch.setattr(posting, "outbound", end.outbound() if believed else stranger)
        ResponseURI.objects.create(relying_party=bank, uri=end.url("/answers"))
        asks(response_uri=end.url("/answers"))

        response = share(client, url_of_interaction())

    assert response.headers["Location"] == (FOLLOWED if believed else f"{url_of_interaction()}delivery/")
    assert len(end.requests) == (1 if believed else 0)
    assert Delivery.objects.get().left_here is believed


def test_no_token_and_no_state_in_the_log(
    client: Client, interaction_url: str, receiver: Receiver, capsys: Any
) -> None:
    receiver.status = 500
    share(client, interaction_url)
    receiver.status = 200
    receiver.redirects_to(HERE)
    client.post(f"{interaction_url}delivery/", {"choice": "again"})

    written = capsys.readouterr().err
    assert "answer_not_delivered" in written
    for secret in (receiver.posted[0].body[9:60], "af0ifjsldkj", "response_code", "eyJ"):
        assert secret not in written


def test_one_slow_application_does_not_take_every_thread(
    client: Client, interaction_url: str, bank: RelyingParty, receiver: Receiver
) -> None:
    with waiting_for(bank.pk), waiting_for(bank.pk):
        share(client, interaction_url)

    assert receiver.posted == []
    assert "Try again" in client.get(f"{interaction_url}delivery/").content.decode()


# --- The cost for answers by redirect ---------------------------------------------------------------------


def test_a_fragment_costs_no_statement_more(holder: Client, bank: RelyingParty, statements: Any) -> None:
    holder.get(PATH, asked(bank))
    interaction_url = url_of_interaction()

    with statements() as seen:
        answer = holder.post(interaction_url, {"decision": "share"})

    assert "vp_token" in fragment(answer.headers["Location"])
    assert not [text for text in seen.texts if "_delivery" in text]


@pytest.mark.parametrize("decision", ["share", "decline"])
def test_where_an_answer_is_posted_is_checked_once_in_the_request_that_gives_it(
    client: Client, interaction_url: str, receiver: Receiver, statements: Any, decision: str
) -> None:
    with statements() as seen:
        client.post(interaction_url, {"decision": decision})

    assert len(receiver.posted) == 1
    assert len([text for text in seen.texts if "presentation_responseuri" in text]) == 1


# --- Races ------------------------------------------------------------------------------------------------


def all_at_once(client: Client, count: int, work: Callable[[Client], Any]) -> list[Any]:
    barrier, results = threading.Barrier(count), []

    def run() -> None:
        racer = Client()
        racer.cookies = client.cookies.copy()
        barrier.wait()
        results.append(work(racer))
        connection.close()

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@pytest.mark.postgresql
def test_racing_decisions_post_one_token_once(
    client: Client, interaction_url: str, receiver: Receiver
) -> None:
    receiver.redirects_to(HERE)

    answers = all_at_once(client, 6, lambda racer: share(racer, interaction_url).headers.get("Location"))

    assert len(receiver.posted) == 1
    assert answers.count(FOLLOWED) >= 1
    assert set(answers) <= {FOLLOWED, f"{interaction_url}delivery/"}


@pytest.mark.postgresql
def test_racing_tries_post_the_answer_once(client: Client, undelivered: str, receiver: Receiver) -> None:
    receiver.status = 200
    receiver.redirects_to(HERE)

    all_at_once(
        client, 6, lambda racer: racer.post(f"{undelivered}delivery/", {"choice": "again"}).status_code
    )

    assert len(receiver.posted) == 2
    assert Delivery.objects.get().tries == 2


@pytest.mark.postgresql
def test_giving_up_while_it_is_posted_does_not_undo_the_delivery(
    client: Client, interaction_url: str, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "DONE_WITHIN", 60)
    monkeypatch.setattr(deliveries, "TAKEN_FOR", timedelta(minutes=2))
    posting, looked = threading.Event(), threading.Event()

    def wait() -> None:
        posting.set()
        looked.wait(30)

    receiver.before = wait
    receiver.redirects_to(HERE)
    other = Client()
    other.cookies = client.cookies.copy()
    sharing = threading.Thread(target=lambda: (share(client, interaction_url), connection.close()))
    sharing.start()
    assert posting.wait(30)

    page = other.post(f"{interaction_url}delivery/", {"choice": "give_up"}, follow=True).content.decode()
    looked.set()
    sharing.join()

    assert "Your answer is on its way" in page
    assert Delivery.objects.get().delivered_at is not None
    assert other.get(f"{interaction_url}delivery/").headers["Location"] == FOLLOWED


def test_a_process_that_died_while_posting_does_not_block_the_answer_for_ever(
    client: Client, undelivered: str, receiver: Receiver
) -> None:
    receiver.status = 200
    Delivery.objects.update(taken_until=timezone.now() + timedelta(seconds=5))
    client.post(f"{undelivered}delivery/", {"choice": "again"})
    assert len(receiver.posted) == 1
    Delivery.objects.update(taken_until=timezone.now())

    client.post(f"{undelivered}delivery/", {"choice": "again"})

    assert len(receiver.posted) == 2
    assert Delivery.objects.get().delivered_at is not None
