"""No table contains details of a transaction in clear at any step of a request."""

import base64
import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test import Client

from consent.models import Consent
from presentation.models import Interaction, PushedRequest, RelyingParty, ResponseURI
from tests.people import register
from tests.presentation.clients import FORM, basic, with_secret
from tests.presentation.requests.authorization_requests import PATH, asked, fragment
from tests.presentation.requests.deciding import SignIn, address_of_page, ask, decide
from tests.presentation.requests.pushing import PAR
from tests.presentation.webhooks import opted_in
from tests.receiver import listening
from wallet.models import Wallet

pytestmark = [pytest.mark.usefixtures("signing_key"), pytest.mark.django_db]
URN = "urn:service:params:vc:transaction-data:"
SAID: dict[str, dict[str, Any]] = {
    URN + "session-data": {"ip_address": "203.0.113.177", "device_id": "device-77310"},
    URN + "payment-itemized:v1": {
        "title": "Planted order",
        "description": "Planted description",
        "currency": "EUR",
        "items": [{"quantity": 7719, "unit_cost": 8412.37, "label": "Planted goods"}],
    },
    URN + "wire-instructions:v1": {
        "recipient": {
            "individual_name": "Petra Payee",
            "institution_name": "Planted Savings",
            "routing_number": "071923284",
            "account_number": "DE02120300000000202051",
            "website": "payee.example",
        },
        "source": {
            "individual_name": "Percy Payer",
            "institution_name": "Planted Union",
            "account_number": "60161331926819",
            "routing_number": "40478409127733",
        },
        "amount": 77123.45,
        "currency": "GBP",
        "memo": "Planted memo",
    },
    URN + "payment-mandate:v1": {
        "payment_instrument": {
            "type": "card",
            "id": "searched_texts-card",
            "instruction": "searched_texts-charge",
        },
        "payee": {"id": "searched_texts-shop", "name": "Planted Shop", "website": "searched_texts.example"},
        "prompt_summary": "Planted summary",
        "amount": 88321.5,
        "currency": "EUR",
    },
}
VALUES = [
    base64.urlsafe_b64encode(
        json.dumps({"type": urn, "credential_ids": ["basic"], "payload": payload}).encode()
    )
    .rstrip(b"=")
    .decode()
    for urn, payload in SAID.items()
]
TRANSACTION_DATA = " ".join(VALUES)
NOT_SEARCHED = {"EUR", "GBP", "card", "7719"}  # too short or too common to be recognised


def leaves(tree: Any) -> Iterator[str]:
    if isinstance(tree, dict | list):
        for inner in tree.values() if isinstance(tree, dict) else tree:
            yield from leaves(inner)
    else:
        yield str(tree)


def searched_texts() -> set[str]:
    """All values of the transactions, in lower case without spaces and commas, as they are searched for."""
    said = {leaf for payload in SAID.values() for leaf in leaves(payload)} - NOT_SEARCHED
    parts = {value[start : start + 40] for value in VALUES for start in range(100, len(value) - 40, 20)}
    return {plain(text) for text in said | parts}


def plain(text: str) -> str:
    return re.sub(r"[\s,\xa0]", "", text).lower()


def stored() -> dict[str, str]:
    """The content of every column of every table as text."""
    content = {}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')  # noqa: S608
            content[table] = plain("\n".join(_text(value) for row in cursor for value in row))
    return content


def _text(value: Any) -> str:
    if isinstance(value, memoryview | bytes):
        return bytes(value).decode("latin-1")
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


def found() -> dict[str, list[str]]:
    """Which searched_texts texts stand in which table."""
    texts = searched_texts()
    hits = {table: [text for text in texts if text in content] for table, content in stored().items()}
    return {table: texts for table, texts in hits.items() if texts}


@pytest.fixture
def bank() -> RelyingParty:
    """Acme Bank, registered for every webhook."""
    party = register("Acme Bank", "https://bank.example/callback")
    opted_in(party, "https://bank.example/hook")
    return party


def test_the_search_finds_a_text_in_clear(bank: RelyingParty) -> None:
    RelyingParty.objects.update(notes="For Petra  Payee at 77,123.45", jwks={"a": [VALUES[2][40:300]]})

    assert {"petrapayee", "77123.45"} <= set(found()["presentation_relyingparty"])
    assert len(found()["presentation_relyingparty"]) > 5


@pytest.mark.parametrize("decision", ["share", "decline"])
def test_no_transaction_is_stored_in_clear_at_any_step_of_a_request(
    holder: Client, bank: RelyingParty, decision: str
) -> None:
    page = ask(holder, bank, transaction_data=TRANSACTION_DATA)
    assert found() == {}
    shown = holder.get(page).content.decode()
    assert "DE02 1203 0000 0000 2020 51" in shown
    interaction_page = decide(holder, page, decision)
    assert found() == {}
    answer = fragment(holder.get(interaction_page).headers["Location"])
    assert ("vp_token" in answer) is (decision == "share")
    assert found() == {}
    assert (
        "DE02 1203 0000 0000 2020 51"
        in holder.get(f"/wallet/history/{Consent.objects.get().id}/").content.decode()
    )
    assert Interaction.objects.get().sealed_transaction_data is None


def test_no_transaction_is_stored_in_clear_before_the_holder_signs_in(
    client: Client, bank: RelyingParty
) -> None:
    assert ask(client, bank, transaction_data=TRANSACTION_DATA).startswith("/wallet/errands/")

    assert found() == {}


def test_no_transaction_of_a_pushed_request_is_stored_in_clear(holder: Client) -> None:
    party, secret = with_secret()
    form = urlencode(asked(party, transaction_data=TRANSACTION_DATA))

    pushed = holder.post(PAR, form, content_type=FORM, headers=basic(party.client_id, secret))
    assert found() == {}
    begin = {"client_id": party.client_id, "request_uri": pushed.json()["request_uri"]}
    page = address_of_page(holder.get(PATH, begin))
    assert found() == {}
    assert "Planted memo" in holder.get(page).content.decode()
    assert "vp_token" in fragment(holder.get(decide(holder, page)).headers["Location"])
    assert found() == {}
    assert PushedRequest.objects.get().sealed_transaction_data is None


@pytest.mark.django_db(transaction=True)
def test_no_transaction_of_a_posted_answer_is_stored_in_clear(
    client: Client, alice: Wallet, bank: RelyingParty, sign_in: SignIn
) -> None:
    with listening() as receiver:
        ResponseURI.objects.create(relying_party=bank, uri=receiver.uri)
        sign_in(alice)
        direct = {"response_mode": "direct_post", "response_uri": receiver.uri, "redirect_uri": None}
        page = ask(client, bank, transaction_data=TRANSACTION_DATA, **direct)
        client.get(decide(client, page))

        assert receiver.posted
        assert found() == {}


def test_only_type_and_hash_are_stored_in_clear(holder: Client, bank: RelyingParty) -> None:
    answer = fragment(
        holder.get(decide(holder, ask(holder, bank, transaction_data=TRANSACTION_DATA))).headers["Location"]
    )

    kept = Consent.objects.get().transactions
    binding = answer["vp_token"].rsplit("~", 1)[1].split(".")[1]
    hashes = json.loads(base64.urlsafe_b64decode(binding + "=="))["transaction_data_hashes"]
    assert [one["kind"] for one in kept] == list(SAID)
    assert [one["hash"] for one in kept] == hashes
    assert {name for one in kept for name in one} == {"kind", "title", "hash"}


def test_a_sealed_value_does_not_open_in_another_row(
    holder: Client, bank: RelyingParty, capsys: pytest.CaptureFixture[str]
) -> None:
    small, large = (
        ask(holder, bank, nonce=f"nonce-of-many-characters-{number}", transaction_data=VALUES[number])
        for number in (1, 2)
    )
    Consent.objects.filter(transactions__0__kind=URN + "wire-instructions:v1").update(
        sealed_transactions=Consent.objects.get(transactions__0__kind=list(SAID)[1]).sealed_transactions
    )

    assert "Planted goods" in holder.get(small).content.decode()
    led = holder.get(large)
    assert led.status_code == 303
    answer = fragment(holder.get(led.headers["Location"]).headers["Location"])
    assert (answer["error"], answer["state"]) == ("server_error", "af0ifjsldkj")
    assert "consent_consent.sealed_transactions" in capsys.readouterr().err


Happen = Callable[[Any], None]


def lose_the_key(settings: Any) -> None:
    settings.KEY_SEALING_KEYS = ["another-sealing-key-of-many-characters"]


def forget(settings: Any) -> None:
    Interaction.objects.update(sealed_transaction_data=b"")


@pytest.mark.parametrize("happen", [lose_the_key, forget])
def test_a_request_whose_transaction_does_not_open_is_redirected_with_server_error(
    client: Client, alice: Wallet, bank: RelyingParty, sign_in: SignIn, settings: Any, happen: Happen
) -> None:
    ask(client, bank, transaction_data=VALUES[2])  # nobody is signed in, so only the request is sealed
    happen(settings)
    sign_in(alice)
    interaction_page = f"{PATH.removesuffix('authorize')}interactions/{Interaction.objects.get().id}/"

    answer = fragment(client.get(interaction_page).headers["Location"])

    assert (answer["error"], answer["state"]) == ("server_error", "af0ifjsldkj")


def test_a_pushed_request_whose_transaction_does_not_open_is_redirected_with_server_error(
    client: Client, settings: Any
) -> None:
    party, secret = with_secret()
    form = urlencode(asked(party, transaction_data=VALUES[2]))
    pushed = client.post(PAR, form, content_type=FORM, headers=basic(party.client_id, secret))
    lose_the_key(settings)

    begin = {"client_id": party.client_id, "request_uri": pushed.json()["request_uri"]}
    answer = fragment(client.get(PATH, begin).headers["Location"])

    assert (answer["error"], answer["state"]) == ("server_error", "af0ifjsldkj")


def test_a_request_from_before_its_transactions_were_sealed_is_still_answered(
    holder: Client, bank: RelyingParty
) -> None:
    page = ask(holder, bank, transaction_data=VALUES[2])
    row = Interaction.objects.get()
    in_clear = {**row.parameters, "transaction_data": VALUES[2]}
    Interaction.objects.update(parameters=in_clear, sealed_transaction_data=None)

    assert "vp_token" in fragment(holder.get(decide(holder, page)).headers["Location"])
    assert found() == {}
