"""No table contains details of a transaction in clear at any step of a request."""

import base64
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client

from consent.models import Consent
from presentation.models import Interaction, PushedRequest, RelyingParty, ResponseURI
from tests.personal_data import SAID, TRANSACTION_DATA, URN, VALUES, searched_texts, stored
from tests.presentation.clients import FORM, basic, with_secret
from tests.presentation.requests.authorization_requests import PATH, asked, fragment
from tests.presentation.requests.deciding import SignIn, address_of_page, ask, decide
from tests.presentation.requests.pushing import PAR
from tests.receiver import listening
from wallet.models import Wallet

pytestmark = [pytest.mark.usefixtures("signing_key"), pytest.mark.django_db]


def found() -> dict[str, list[str]]:
    """Which searched_texts texts stand in which table."""
    texts = searched_texts()
    hits = {table: [text for text in texts if text in content] for table, content in stored().items()}
    return {table: texts for table, texts in hits.items() if texts}


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
