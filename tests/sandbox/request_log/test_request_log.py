"""The request log: what it says about each request, whose requests it shows, and the test webhook."""

import json
import re
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.utils import timezone

from infra.limits import Limit
from infra.outbound.calls import Outbound
from presentation.models import Delivery, Interaction, RelyingParty
from presentation.relying_parties.authentication import client_secrets
from presentation.requests.delivery import posting
from presentation.webhooks.models import WebhookEvent
from sandbox.models import LoggedStep
from sandbox.self_service import self_registrations
from tests.people import ALICE
from tests.presentation.clients import ask, basic
from tests.presentation.openid_connect.shop import ALL, Shop
from tests.presentation.requests.authorization_requests import PATH, asked
from tests.presentation.requests.deciding import SignIn, decide
from tests.presentation.webhooks import TLS, Receiver, deliver, opted_in, receiving
from tests.receiver import listening
from tests.sandbox.developers import HOME, signed_in
from tests.sandbox.request_log.conftest import registered_by, request_log_of, steps, text
from wallet.models import Wallet

pytestmark = pytest.mark.usefixtures("signing_key")
ALL_REQUESTS = f"{HOME}requests/"
PUSH = "/verifiable-credentials/v1/presentation/par"
TOLD, FORM = "https://bank.example/told", "application/x-www-form-urlencoded"


def reference_of(response: Any) -> str:
    return str(response.headers["X-Request-ID"][:8].upper())


def facts(page: str) -> dict[str, str]:
    """The facts on a page, by their names."""
    found = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page)
    return {re.sub("<[^>]+>", "", name): re.sub("<[^>]+>", "", value) for name, value in found}


def shared(client: Client, party: RelyingParty, **changes: Any) -> Any:
    return client.get(decide(client, client.get(PATH, asked(party, **changes)).headers["Content-Location"]))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"nonce": "short"}, ("invalid_request", "nonce must have at least 16 characters", "nonce")),
        ({"scope": "urn:example:x"}, ("invalid_scope", "scope urn:example:x is unknown", "scope")),
        ({"login_hint": None}, ("invalid_request", "login_hint is missing", "login_hint")),
        (
            {"request": "e30.e30.e30"},
            (None, "the request object is a token of another kind (typ)", "request"),
        ),
    ],
)
def test_a_refusal_has_the_sentence_the_parameter_and_its_rule(
    client: Client, developer: Client, own: RelyingParty, changes: dict[str, Any], expected: Any
) -> None:
    client.get(PATH, asked(own, **changes))

    found = facts(text(developer.get(request_log_of(own))))

    assert (found.get("Refused with"), found["Because"], found["Parameter"]) == expected
    assert len(found["Its rule"]) > 20


@pytest.mark.parametrize("pushed", [False, True])
def test_an_address_that_is_not_registered_is_shown_with_those_that_are(
    client: Client, developer: Client, own: RelyingParty, pushed: bool
) -> None:
    values = asked(own, redirect_uri="https://bank.example/callback/?a=alice@example.org")
    if pushed:
        push(client, own, values)
    else:
        client.get(PATH, values)

    found = facts(text(developer.get(request_log_of(own))))

    assert found["Because"].endswith("character for character; sent: …")
    assert found["Registered"] == own.redirect_uris.get().uri


def push(client: Client, party: RelyingParty, values: dict[str, str]) -> Any:
    secret = client_secrets.rotate(party, now=timezone.now()).text
    return client.post(PUSH, urlencode(values), FORM, headers=basic(party.client_id, secret))


def test_a_pushed_request_and_what_became_of_it_are_one(
    holder: Client, developer: Client, own: RelyingParty
) -> None:
    first = push(holder, own, asked(own)).json()["request_uri"]
    second = push(holder, own, asked(own, nonce="n" * 30)).json()["request_uri"]
    holder.get(PATH, {"client_id": own.client_id, "request_uri": second})

    page = text(developer.get(request_log_of(own)))

    assert page.count('aria-labelledby="step-') == 2
    assert first != second
    assert steps(interaction=Interaction.objects.get().id) == [("push", 201), ("authorize", 200)]


def test_the_rule_is_that_of_the_endpoint_which_refused(
    client: Client, developer: Client, own: RelyingParty
) -> None:
    secret = client_secrets.rotate(own, now=timezone.now()).text
    ask(client, {"scope": "x"}, **basic(own.client_id, secret))

    found = facts(text(developer.get(request_log_of(own))))

    assert found["Because"] == "A scope is unknown or not granted to this client."
    assert "presentation:verify" in found["Its rule"]


def test_a_wrong_secret_breaks_no_rule_of_a_parameter(
    client: Client, developer: Client, own: RelyingParty
) -> None:
    client.post(PUSH, urlencode(asked(own)), FORM, headers=basic(own.client_id, "wrong"))
    found = facts(text(developer.get(request_log_of(own))))

    assert found["Refused with"] == "invalid_client"
    assert "Its rule" not in found


def test_a_word_that_is_also_the_name_of_a_parameter_is_none(
    client: Client, developer: Client, own: RelyingParty
) -> None:
    client.get(PATH, asked(own))
    client.get(f"/verifiable-credentials/v1/presentation/interactions/{Interaction.objects.get().id}/leave/")

    found = facts(text(developer.get(request_log_of(own))))

    assert found["Because"] == "The request was not granted."
    assert "Parameter" not in found


def test_the_page_has_the_newest_request_first_and_its_steps_in_order(
    client: Client, developer: Client, alice: Wallet, own: RelyingParty, sign_in: SignIn
) -> None:
    client.get(PATH, asked(own, nonce="short"))
    sign_in(alice)
    shared(client, own)

    page = text(developer.get(request_log_of(own)))

    in_order = ["completed", "Authorization request", "The person is asked", "Way back from another page"]
    places = [page.index(words) for words in [*in_order, "Answer, with the length", "must have at least 16"]]
    assert places == sorted(places)
    assert ALICE not in page
    assert "Archer" not in page


def test_webhooks_are_shown_with_what_came_back(holder: Client, developer: Client, own: RelyingParty) -> None:
    with receiving() as receiver:
        opted_in(own, receiver.url)
        shared(holder, own)
        waiting = facts(text(developer.get(request_log_of(own))))["Webhook presentation.completed"]
        receiver.statuses = [500]
        deliver()
        refused = facts(text(developer.get(request_log_of(own))))["Webhook presentation.completed"]
        receiver.statuses = [204]
        deliver(now=timezone.now() + timedelta(minutes=5))
        arrived = facts(text(developer.get(request_log_of(own))))["Webhook presentation.completed"]

    assert waiting == "waiting, 0 tries"
    assert refused == "waiting, 1 try; your server answered 500"
    assert arrived == "delivered, 2 tries; your server answered 204"


def test_a_posted_answer_is_shown_with_its_delivery(
    client: Client,
    developer: Client,
    alice: Wallet,
    own: RelyingParty,
    sign_in: SignIn,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(posting, "outbound", Outbound(loopback=True, tls=TLS))
    sign_in(alice)
    with listening() as receiver:
        receiver.status = 500
        own.response_uris.create(uri=receiver.uri)
        posted = {"redirect_uri": None, "response_mode": "direct_post", "response_uri": receiver.uri}
        shared(client, own, **posted)

    assert Delivery.objects.get().tries == 1
    found = facts(text(developer.get(request_log_of(own))))["Posted answer"]
    assert found.startswith("waiting, 1 try; your server answered the last one with another status than 200")


def test_a_code_is_open_until_it_is_exchanged(holder: Client, developer: Client) -> None:
    party = registered_by(wire_format="openid", allowed_claims=ALL)
    party.redirect_uris.create(uri="https://shop.example/callback")
    shop = Shop(party, client_secrets.rotate(party, now=timezone.now()).text)
    code = shop.code(holder)
    before = facts(text(developer.get(request_log_of(party))))
    shop.redeems(holder, code, code_verifier=None)
    refused = facts(text(developer.get(request_log_of(party))))
    shop.redeems(holder, code)
    after = facts(text(developer.get(request_log_of(party))))

    assert before["Code"].startswith("not sent to the token endpoint yet; it can be exchanged until ")
    assert refused["Code"] == "sent, but not exchanged: the last token request says why"
    assert "Code" not in after


@pytest.mark.parametrize("pushed", [False, True])
def test_what_openid_connect_leaves_out_without_an_error_is_named(
    holder: Client, developer: Client, pushed: bool
) -> None:
    party = registered_by(wire_format="openid", allowed_claims=["given_name"])
    party.redirect_uris.create(uri="https://shop.example/callback")
    secret = client_secrets.rotate(party, now=timezone.now()).text
    shop = Shop(party, secret)
    claims = {"id_token": dict.fromkeys(["birthdate", "given_name", "a b", "sub", "vp_token"])}
    values = shop.asks(scope="openid profile profil email a@b.example", claims=json.dumps(claims))
    if pushed:
        push(holder, party, values)
    else:
        holder.get(PATH, values)

    page = text(developer.get(request_log_of(party)))

    told = facts(page)["Left out: unknown here, or not allowed"]
    assert told == "scope profil, scope email, claim family_name, claim birthdate"
    assert "Because" not in page
    assert "Its rule" not in page
    assert "refused" not in page


def test_many_requests_have_several_pages(developer: Client, own: RelyingParty) -> None:
    rows = [
        LoggedStep(relying_party=own, at=timezone.now(), route="push", method="POST", sentence=f"Number {n}.")
        for n in range(15)
    ]
    LoggedStep.objects.bulk_create(rows)

    first, second = (text(developer.get(f"{request_log_of(own)}?page={number}")) for number in (1, 2))

    assert ("Number 14." in first, "Number 4." in first, "?page=2" in first) == (True, False, True)
    assert ("Number 4." in second, "?page=1" in second) == (True, True)


def test_what_is_older_than_a_day_is_not_shown(client: Client, developer: Client, own: RelyingParty) -> None:
    reference = reference_of(client.get(PATH, asked(own, nonce="short")))
    LoggedStep.objects.update(at=timezone.now() - timedelta(days=1, minutes=1))

    assert "There was none." in text(developer.get(request_log_of(own)))
    assert developer.get(ALL_REQUESTS, {"reference": reference}).status_code == 404


# --- References, and other developers -----------------------------------------------------------------------


def test_the_reference_on_an_error_page_leads_to_its_request(
    client: Client, developer: Client, own: RelyingParty
) -> None:
    shown = client.get(PATH, asked(own, redirect_uri="https://evil.example/"))
    client.get(PATH, asked(own, nonce="short"))
    reference = reference_of(shown)
    assert reference in text(shown)

    for typed in (reference, f" {reference.lower()} "):
        found = text(developer.get(ALL_REQUESTS, {"reference": typed}))
        assert facts(found)["Parameter"] == "redirect_uri"
        assert own.name in found
        assert "must have at least 16" not in found
    assert 'action="/sandbox/relying-parties/requests/"' in text(developer.get(HOME))


@pytest.mark.parametrize("typed", ["ABCDEF01", "x", "<script>", "\0x", "a" * 5000, "é"])
def test_a_reference_that_leads_nowhere_is_explained(
    developer: Client, own: RelyingParty, typed: str
) -> None:
    page = developer.get(ALL_REQUESTS, {"reference": typed})

    assert page.status_code == 404
    assert "One of these is the reason" in text(page)
    assert "<script>" not in page.content.decode().split("<main")[1].split("</main>")[0]


def test_nobody_sees_or_finds_the_requests_of_another_developer(
    client: Client, developer: Client, own: RelyingParty
) -> None:
    foreign = registered_by("other@shop.example", "Foreign Shop")
    reference = reference_of(client.get(PATH, asked(foreign, nonce="short")))
    opted_in(foreign, TOLD)

    assert developer.get(request_log_of(foreign)).status_code == 404
    assert developer.post(request_log_of(foreign)).status_code == 404
    assert developer.get(ALL_REQUESTS, {"reference": reference}).status_code == 404
    assert developer.get(request_log_of(own), {"reference": reference}).status_code == 404
    assert "Foreign" not in text(developer.get(ALL_REQUESTS))
    for page in (request_log_of(foreign), ALL_REQUESTS):
        assert Client().get(page).headers["Location"] == HOME
    assert "must have at least 16" in text(signed_in("other@shop.example").get(request_log_of(foreign)))
    assert steps() == [("authorize", 303)]


def test_the_desk_of_a_party_that_operators_registered_is_nobodys(
    developer: Client, acme_bank: RelyingParty
) -> None:
    RelyingParty.objects.update(contact="dev@shop.example")
    assert developer.get(request_log_of(acme_bank)).status_code == 404


# --- The test webhook ---------------------------------------------------------------------------------------


@pytest.fixture
def told(own: RelyingParty, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A receiver at which webhooks of `own` arrive, with the secret that signs them."""
    monkeypatch.setattr(posting, "outbound", Outbound(loopback=True, tls=TLS))
    with receiving() as receiver:
        yield receiver, opted_in(own, receiver.url)


def send(developer: Client, party: RelyingParty) -> str:
    """Presses the button; returns the page to which it leads."""
    assert "Send a test webhook" in text(developer.get(request_log_of(party)))
    sent = developer.post(request_log_of(party))
    assert sent.status_code == 303
    return text(developer.get(sent.headers["Location"]))


def test_a_test_webhook_is_signed_sent_once_and_shown(
    developer: Client, own: RelyingParty, told: tuple[Receiver, str]
) -> None:
    receiver, secret = told
    page = send(developer, own)

    (message,) = receiver.verified(secret)
    assert message["type"] == "webhook.test"
    assert message["data"] == {"client_id": own.client_id, "nonce_sha256": "0" * 64}
    assert "POST 204" in page
    assert '<span class="badge badge-good">delivered</span>' in page
    assert not WebhookEvent.objects.exists()
    assert steps() == [("webhook.test", 204)]


def test_what_came_back_from_a_test_webhook_is_shown(
    developer: Client, own: RelyingParty, told: tuple[Receiver, str]
) -> None:
    receiver, _secret = told
    receiver.statuses = [500]
    assert facts(send(developer, own))["Because"] == "your server answered 500"

    RelyingParty.objects.update(webhook_url="http://127.0.0.1:9/told")
    assert "POST –<" in (page := send(developer, own))
    assert "The connection failed" in page
    own.webhook_secrets.all().delete()
    assert "There is no secret to sign with." in send(developer, own)


@pytest.mark.parametrize("url", ["https://127.0.0.1/", "https://[::1]/", "https://169.254.169.254/latest"])
def test_a_test_webhook_goes_to_no_private_network(developer: Client, own: RelyingParty, url: str) -> None:
    opted_in(own, url)
    assert "The host is not on the public Internet." in send(developer, own)


@pytest.mark.usefixtures("windows_just_begun")
def test_test_webhooks_are_limited(
    developer: Client, own: RelyingParty, told: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = Limit("self-registration-changes", 1, timedelta(hours=1))
    monkeypatch.setattr("sandbox.request_log.webhook.CHANGES_PER_DEVELOPER", limit)
    developer.post(request_log_of(own))
    refused = developer.post(request_log_of(own))

    assert refused.status_code == 429
    assert "That was too often." in text(refused)
    assert len(steps()) == 1
    assert self_registrations.CHANGES_PER_DEVELOPER.purpose == limit.purpose


def test_a_suspended_application_sends_no_test_webhook(developer: Client, own: RelyingParty) -> None:
    opted_in(own, TOLD)
    RelyingParty.objects.update(state="suspended", suspension_reason="A test.")

    assert "Send a test webhook" not in text(developer.get(request_log_of(own)))
    assert developer.post(request_log_of(own)).status_code == 404
    assert developer.post(ALL_REQUESTS).status_code == 404


def test_a_foreign_form_sends_no_test_webhook(own: RelyingParty) -> None:
    opted_in(own, TOLD)
    assert signed_in().post(request_log_of(own), headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert steps() == []
