"""A client is never mistaken for a holder, nor the token of one for a token of the other.

The `sub` of an access token is the client (RFC 9068 §2.2; RFC 9700 §4.15), so no holder may have such a name.
"""

import re
from uuid import UUID

import pytest
from django.test import Client

from keys import key_set
from presentation.models import RelyingParty
from presentation.relying_parties.models.relying_parties import new_client_id
from tests.presentation.clients import access_token, registered
from tests.presentation.requests.deciding import SignIn, pass_through
from tests.presentation.verifying import NONCE, failed, verify
from tests.relying_party import read_jwt
from wallet.models import Wallet

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("signing_key")]


@pytest.fixture
def bank() -> RelyingParty:
    return registered()


@pytest.fixture
def vp_token(client: Client, bank: RelyingParty, alice: Wallet, sign_in: SignIn) -> str:
    """The answer after Alice has agreed to the bank's request."""
    sign_in(alice)
    token: str = pass_through(client, bank, nonce=NONCE)["vp_token"]
    return token


def test_a_client_id_looks_like_no_name_a_holder_has() -> None:
    for client_id in {new_client_id() for _ in range(50)}:
        assert re.fullmatch("[0-9a-f]{32}", client_id)  # neither an e-mail address nor the number of a row
        assert str(UUID(client_id)) != client_id  # nor a wallet's id in our notation


def test_a_client_id_cannot_be_chosen() -> None:
    assert not RelyingParty._meta.get_field("client_id").editable


def test_an_access_token_is_of_the_client_and_nothing_presented_has_a_subject(
    bank: RelyingParty, alice: Wallet, vp_token: str
) -> None:
    access = read_jwt(access_token(bank)).payload
    assert access["sub"] == access["client_id"] == bank.client_id
    issued, *_, key_binding = vp_token.split("~")
    for token in (issued, key_binding):
        said = read_jwt(token).payload
        assert not {"sub", "client_id", "scope"} & said.keys()
        assert str(alice.id) not in str(said)


def test_nothing_presented_is_an_access_token(bank: RelyingParty, vp_token: str) -> None:
    issued, *_, key_binding = vp_token.split("~")
    assert key_set.find(read_jwt(issued).header["kid"])  # refused for its type, not for its key
    for token in (issued, key_binding, vp_token):
        assert verify(bank, {"vp_token": vp_token, "nonce": NONCE}, token=token).status_code == 401


def test_no_access_token_is_a_presentation(bank: RelyingParty, vp_token: str) -> None:
    access = access_token(bank)
    _issued, _, rest = vp_token.partition("~")
    key_binding = vp_token.rpartition("~")[2]
    for forged in (access, f"{access}~", f"{access}~{rest}", f"{access}~{key_binding}", f"{access}~{access}"):
        assert failed(verify(bank, {"vp_token": forged, "nonce": NONCE}))


def test_the_type_is_what_tells_them_apart(bank: RelyingParty, vp_token: str) -> None:
    access = access_token(bank)
    forged = f"{access}~{vp_token.partition('~')[2]}"
    assert failed(verify(bank, {"vp_token": forged, "nonce": NONCE})) == "typ"
