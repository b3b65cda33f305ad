"""Further settings of self-service: DCQL, posted answers, keys, webhooks and more."""

import json
import re
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest
from django.core import mail
from django.core.management import call_command
from django.test import Client
from standardwebhooks import Webhook

from presentation.models import RelyingParty
from sandbox import checks
from tests.forgery import new_key, public_jwk
from tests.presentation.clients import FORM, basic
from tests.presentation.webhooks import receiving
from tests.receiver import listening
from tests.sandbox.developers import CHOSEN, HOME, LOCAL, make, signed_in, text

PAR = "/verifiable-credentials/v1/presentation/par"
AUTHORIZE = "/verifiable-credentials/v1/presentation/authorize"
OWN = "https://api.shop.example"
FOREIGN = "https://bank.example/x"


def keys() -> str:
    return json.dumps({"keys": [{"kid": "one", **public_jwk(new_key())}]})


@pytest.fixture
def developer(db: None) -> Client:
    """A developer in a sandbox on their own machine."""
    return signed_in()


@pytest.fixture
def abroad(developer: Client, settings: Any) -> Client:
    """A developer in a sandbox elsewhere, which sends e-mails."""
    settings.DEVELOPER_EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    settings.LOOPBACK_CALLS = False
    mail.outbox = []
    return developer


def test_all_of_it_is_saved_shown_and_changed(abroad: Client) -> None:
    chosen = {
        "allowed_claims": ["age_equal_or_over.21"],
        "response_uris": f"{OWN}/answers\n{OWN}/others",
        "jwks": keys(),
        "requirements": ["requires_pushed_requests", "requires_signed_requests"],
        "accepted": ["may_omit_login_hint"],
        "request_uri_prefix": f"{OWN}/requests/",
        "redirect_uris": f"{OWN}/callback",
        "initiate_login_uri": f"{OWN}/start",
        "webhook_url": f"{OWN}/told",
        "webhook_events": ["presentation.completed"],
    }
    page = make(abroad, **chosen).headers["Location"]
    party = RelyingParty.objects.get()
    shown = text(abroad.get(page))
    abroad.post(page, CHOSEN | {"response_uris": f"{OWN}/others"})
    changed = RelyingParty.objects.get()

    assert [row.uri for row in party.response_uris.all()] == [f"{OWN}/others"]
    assert (party.allowed_claims, party.jwks) == (["age_equal_or_over.21"], json.loads(chosen["jwks"]))
    assert (party.requires_pushed_requests, party.requires_signed_requests) == (True, True)
    assert party.may_omit_login_hint
    assert party.initiate_login_uri == f"{OWN}/start"
    assert f"{OWN}/start" in shown
    assert (party.request_uri_prefix, party.webhook_url) == (f"{OWN}/requests/", f"{OWN}/told")
    assert party.webhook_events == ["presentation.completed"]
    assert "<details open>" in shown
    assert f"{OWN}/answers" in shown
    assert "/authorize?" not in shown  # it requires pushed and signed requests
    assert "/authorize?" in text(abroad.get(page))
    # a scope, a wire format, a number of people, a signature, a claim, three choices of requests, an event
    assert shown.count(" checked") == 9
    assert (changed.jwks, changed.allowed_claims, changed.webhook_events) == (None, [], [])
    assert (changed.requires_signed_requests, changed.webhook_url) == (False, "")


def test_the_further_settings_are_folded_until_one_is_used(developer: Client) -> None:
    assert "<details>" in text(developer.get(f"{HOME}new/"))


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "an address for answers of somebody else": ({"response_uris": FOREIGN}, "under the domain"),
    "one of several": ({"response_uris": f"{OWN}/a\n{FOREIGN}"}, "under the domain"),
    "an address for answers on the sandbox's machine": ({"response_uris": LOCAL}, "under the domain"),
    "the same by https": ({"response_uris": "https://127.0.0.1/x"}, "under the domain"),
    "too many": ({"response_uris": "\n".join(f"{OWN}/{at}" for at in range(11))}, "at most 10"),
    "requests of somebody else": ({"request_uri_prefix": FOREIGN}, "under the domain"),
    "requests by http": ({"request_uri_prefix": "http://api.shop.example/"}, "begins with https"),
    "webhooks to somebody else": ({"webhook_url": FOREIGN}, "under the domain"),
    "webhooks to the sandbox's machine": ({"webhook_url": "http://localhost:8000/"}, "under the domain"),
    "webhooks to a domain that only ends like theirs": (
        {"webhook_url": "https://evilshop.example/"},
        "under the domain",
    ),
    "events to nowhere": ({"webhook_events": ["presentation.completed"]}, "Enter where the events are sent"),
    "webhooks without an event": ({"webhook_url": f"{OWN}/told"}, "Choose at least one event"),
    "an event that is none": ({"webhook_events": ["everything"]}, "Select a valid choice"),
    "a claim that is none": ({"allowed_claims": ["everything"]}, "Select a valid choice"),
    "signed requests without a key": ({"requirements": ["requires_signed_requests"]}, "public keys first"),
    "a requirement that is none": ({"requirements": ["state"]}, "Select a valid choice"),
    "keys that are no JSON": ({"jwks": "{"}, "This is not JSON."),
    "keys that are no set": ({"jwks": "[]"}, "not a JWK set"),
    "a private key": ({"jwks": '{"keys": [{"kty": "EC", "d": "x"}]}'}, "private or secret key"),
}


@pytest.mark.parametrize(("changes", "sentence"), WRONG.values(), ids=WRONG)
def test_a_mistake_is_said_and_nothing_is_written(
    abroad: Client, changes: dict[str, Any], sentence: str
) -> None:
    response = make(abroad, **changes)

    assert response.status_code == 422
    assert sentence in text(response)
    assert "<details open>" in text(response)
    assert not RelyingParty.objects.exists()


@pytest.mark.parametrize("field", ["response_uris", "webhook_url", "request_uri_prefix"])
def test_without_mail_no_domain_is_called_for_anybody(developer: Client, settings: Any, field: str) -> None:
    assert make(developer, **{field: f"{OWN}/x"}).status_code == 422
    settings.LOOPBACK_CALLS = False
    assert "only its operator can register one that it calls" in text(
        make(developer, **{field: "https://localhost/x"})
    )
    assert not RelyingParty.objects.exists()


def secret_on(page: Any) -> str:
    found = re.search(r'<pre class="code"[^>]*>([^<]+)</pre>', text(page))
    assert found
    return found[1]


def test_a_developer_tries_sections_7_to_11_without_an_operator(developer: Client, signing_key: Any) -> None:
    """A DCQL query that is pushed, answered by direct_post, and reported by webhook."""
    with listening() as receiver, receiving() as told:
        page = make(
            developer,
            allowed_claims=["age_equal_or_over.21"],
            response_uris=receiver.uri,
            requirements=["requires_pushed_requests"],
            webhook_url=told.url,
            webhook_events=["presentation.completed"],
        ).headers["Location"]
        client_secret = secret_on(developer.post(f"{page}secret/"))
        assert "Send a test webhook" not in text(developer.get(page))
        first, second = (developer.post(f"{page}webhook-secret/") for _ in range(2))
        assert "Send a test webhook" in text(developer.get(page))
        party = RelyingParty.objects.get()
        meta = {"vct_values": ["http://localhost:8000/credential-types/identity/v1"]}
        claims = [{"path": ["age_equal_or_over", "21"]}]
        query = {"credentials": [{"id": "basic", "format": "dc+sd-jwt", "meta": meta, "claims": claims}]}
        request = {
            "response_type": "vp_token",
            "client_id": party.client_id,
            "response_mode": "direct_post",
            "response_uri": receiver.uri,
            "dcql_query": json.dumps(query),
            "login_hint": "sam@example.org",
            "nonce": "a-nonce-of-a-developer",
        }
        pushed = Client().post(
            PAR, urlencode(request), content_type=FORM, headers=basic(party.client_id, client_secret)
        )
        handle = {"client_id": party.client_id, "request_uri": pushed.json()["request_uri"]}
        call = {"authorize_url": f"http://localhost:8000{AUTHORIZE}?{urlencode(handle)}"}
        Client().post("/sandbox/holder", json.dumps(call), content_type="application/json")
        call_command("worker", once=True, jobs=["webhooks"])

    ((headers, body),) = told.received
    assert "vp_token" in dict(parse_qsl(receiver.posted[0].body))
    assert Webhook(secret_on(second)).verify(body, headers)["type"] == "presentation.completed"
    assert ("signs beside it" in text(first), "signs beside it" in text(second)) == (False, True)


@pytest.mark.parametrize("path", ["webhook-secret/", "secret/"])
def test_nobody_makes_a_secret_for_anothers(developer: Client, path: str) -> None:
    page = make(developer).headers["Location"]

    assert signed_in("other@shop.example").post(f"{page}{path}").status_code == 404


def test_a_check_warns_of_a_sandbox_that_others_reach_without_email(settings: Any) -> None:
    assert not checks.developers_prove_their_address(None)
    settings.LOOPBACK_CALLS = False
    (warning,) = checks.developers_prove_their_address(None)
    assert "EMAIL_URL is empty" in warning.msg
    settings.DEVELOPER_EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    assert not checks.developers_prove_their_address(None)
