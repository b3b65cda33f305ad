"""The holder for CI, on pages that do not redirect: `redirect_to` is null, and the answer has the page.

The cases are those of docs/protocol.md §12.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client

from consent.models import Consent
from presentation.models import Interaction, RelyingParty
from presentation.requests.receiving.pushed_requests import HANDLE
from tests.forgery import Key, new_key
from tests.people import register
from tests.presentation.clients import FORM, basic, with_key, with_secret
from tests.presentation.dcql.queries import query
from tests.presentation.requests.authorization_requests import PATH, asked
from tests.presentation.requests.signed_requests import signed
from tests.receiver import Receiver, listening
from tests.sandbox.holder_calls import authorize_url, call

pytestmark = [pytest.mark.usefixtures("signing_key"), pytest.mark.slow]
CALLBACK = "https://bank.example/callback"


def stays(url: str, *, status: int, heading: str, **members: Any) -> str:
    """The text of the page in the answer to this call; the answer has nothing else."""
    response = call(url, **members)
    assert response.status_code == 200, response.content
    said = response.json()
    assert said.keys() == {"redirect_to", "page"}
    assert said["redirect_to"] is None
    assert said["page"].keys() == {"status", "heading", "text"}
    assert (said["page"]["status"], said["page"]["heading"]) == (status, heading)
    return str(said["page"]["text"])


CANNOT_GO_ON = {"status": 400, "heading": "We cannot go on with this request"}


# --- The client or the return address is not proven -------------------------------------------------------


UNPROVEN: dict[str, dict[str, Any]] = {
    "no client_id": {"client_id": None},
    "an unknown client_id": {"client_id": "unknown"},
    "no redirect_uri": {"redirect_uri": None},
    "another redirect_uri": {"redirect_uri": "https://elsewhere.example/"},
    "another response_uri": {
        "redirect_uri": None,
        "response_mode": "direct_post",
        "response_uri": "https://elsewhere.example/",
    },
}


@pytest.mark.parametrize("decision", ["share", "decline"])
@pytest.mark.parametrize("changes", UNPROVEN.values(), ids=UNPROVEN)
def test_where_the_sender_or_the_way_back_is_not_proven_a_page_is_told(
    acme_bank: RelyingParty, changes: dict[str, Any], decision: str
) -> None:
    acme_bank.response_uris.create(uri="https://bank.example/answers")

    text = stays(authorize_url(acme_bank, **changes), decision=decision, **CANNOT_GO_ON)

    assert next(reversed(changes)) in text
    assert not Interaction.objects.exists()


@pytest.fixture
def bank(db: None) -> tuple[RelyingParty, Key]:
    """Acme Bank, which signs its requests and has an address for them registered."""
    return with_key()


def carried(settings: Any, party: RelyingParty, **carrier: str) -> str:
    """The address with only `client_id` and `request` or `request_uri`."""
    return f"{settings.BASE_URL}{PATH}?{urlencode({'client_id': party.client_id} | carrier)}"


@pytest.mark.parametrize("forged", ["by another key", "for another client"])
def test_where_the_signature_of_a_request_does_not_verify_a_page_is_told(
    bank: tuple[RelyingParty, Key], settings: Any, forged: str
) -> None:
    key, party = (new_key(), bank[0]) if forged == "by another key" else (None, register("Shop", CALLBACK))
    text = signed(bank, settings.BASE_URL, key=key)

    stays(carried(settings, party, request=text), **CANNOT_GO_ON)

    assert not Interaction.objects.exists()


def test_where_a_published_request_is_not_where_it_is_registered_or_cannot_be_got_a_page_is_told(
    bank: tuple[RelyingParty, Key], settings: Any
) -> None:
    with listening() as receiver:
        prefix = receiver.uri.rpartition("/")[0] + "/"
        RelyingParty.objects.update(request_uri_prefix=prefix)
        outside = stays(carried(settings, bank[0], request_uri="https://elsewhere.example/"), **CANNOT_GO_ON)
        missing = stays(carried(settings, bank[0], request_uri=f"{prefix}none"), **CANNOT_GO_ON)
    unreachable = stays(carried(settings, bank[0], request_uri=f"{prefix}none"), **CANNOT_GO_ON)

    assert "at the address registered" in outside
    assert "must answer with status 200" in missing
    assert "could not be fetched" in unreachable


def pushed(bank: RelyingParty, secret: str) -> str:
    response = Client().post(
        f"{PATH.rpartition('/')[0]}/par",
        urlencode(asked(bank)),
        content_type=FORM,
        headers=basic(bank.client_id, secret),
    )
    return str(response.json()["request_uri"])


def test_where_a_handle_is_unknown_or_of_another_client_a_page_is_told(settings: Any, db: None) -> None:
    bank, secret = with_secret()
    other = register("Shop", CALLBACK)

    for party, handle in ((bank, f"{HANDLE}made-up"), (other, pushed(bank, secret))):
        assert "no handle" in stays(carried(settings, party, request_uri=handle), **CANNOT_GO_ON)


@pytest.mark.parametrize("decision", ["share", "decline"])
def test_where_a_pushed_request_was_answered_before_a_page_is_told(settings: Any, decision: str) -> None:
    bank, secret = with_secret()
    url = carried(settings, bank, request_uri=pushed(bank, secret))
    assert call(url, decision=decision).json()["redirect_to"].startswith(CALLBACK)

    assert "answered already" in stays(url, **CANNOT_GO_ON)
    assert Interaction.objects.count() == 1


# --- The relying party returns no redirect_uri ------------------------------------------------------------


@pytest.fixture
def receiver(transactional_db: None, acme_bank: RelyingParty) -> Iterator[Receiver]:
    with listening() as running:
        acme_bank.response_uris.create(uri=running.uri)
        yield running


def posted_url(party: RelyingParty, receiver: Receiver, **changes: Any) -> str:
    direct = {"response_mode": "direct_post", "redirect_uri": None, "response_uri": receiver.uri}
    return authorize_url(party, **direct | changes)


def forbids_following(receiver: Receiver) -> None:
    receiver.redirects_to("javascript:alert(1)")


def answers_without_json(receiver: Receiver) -> None:
    receiver.body, receiver.content_type = b"thank you", "text/plain"


@pytest.mark.parametrize("decision", ["share", "decline"])
@pytest.mark.parametrize("answers", [lambda receiver: None, forbids_following, answers_without_json])
def test_where_the_application_names_no_address_that_may_be_followed_a_page_says_done(
    acme_bank: RelyingParty, receiver: Receiver, decision: str, answers: Callable[[Receiver], None]
) -> None:
    answers(receiver)

    text = stays(posted_url(acme_bank, receiver), status=200, heading="Done", decision=decision)

    assert "Acme Bank has your answer." in text
    assert ("Nothing was shared." in text) == (decision == "decline")
    assert receiver.posted[0].body.startswith("vp_token=" if decision == "share" else "error=access_denied")


def test_where_the_wallet_does_not_hold_it_and_no_address_is_named_a_page_says_done(
    acme_bank: RelyingParty, receiver: Receiver
) -> None:
    asked_for = {"credentials": [query({"path": ["given_name"], "values": ["Mallory"]}, id="basic")]}

    text = stays(
        posted_url(acme_bank, receiver, scope=None, dcql_query=json.dumps(asked_for)),
        status=200,
        heading="Done",
    )

    assert "Nothing was shared." in text
    assert receiver.posted[0].body.startswith("error=access_denied")
    assert not Consent.objects.exists()


def test_where_a_wrong_request_is_posted_and_no_address_is_named_a_page_is_told(
    acme_bank: RelyingParty, receiver: Receiver
) -> None:
    text = stays(posted_url(acme_bank, receiver, nonce="short"), **CANNOT_GO_ON)

    assert "nonce" in text
    assert receiver.posted[0].body.startswith("error=invalid_request")


def test_a_page_says_that_the_application_did_not_accept_the_answer(
    acme_bank: RelyingParty, receiver: Receiver
) -> None:
    receiver.status = 500

    text = stays(posted_url(acme_bank, receiver), status=200, heading="Acme Bank did not accept your answer")

    assert "sent again" in text
    assert len(receiver.posted) == 1
    nobody = "http://127.0.0.1:9/answers"
    acme_bank.response_uris.create(uri=nobody)
    url = posted_url(acme_bank, receiver, response_uri=nobody, nonce="another-nonce-0123456")
    assert "sent again" in stays(url, status=200, heading="We could not reach Acme Bank")
