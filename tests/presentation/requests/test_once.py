"""Nothing is parsed, matched, unsealed or looked up twice within one HTTP request."""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from consent import decisions
from infra import sealing
from presentation.dcql import evaluation
from presentation.dcql import parsing as dcql
from presentation.models import Interaction, RelyingParty
from presentation.requests import authorization_request, next_step
from presentation.requests.fast_path import reading
from presentation.requests.interactions import path_of
from presentation.requests.wire_formats.wire_format import WireFormat
from presentation.transaction_data import entries
from tests.presentation.clients import access_token, assertion, by_assertion, with_key
from tests.presentation.dcql.queries import path, query
from tests.presentation.requests.authorization_requests import PATH, asked, encoded
from tests.presentation.requests.deciding import PAYMENT, address_of_page
from tests.presentation.requests.pushing import go, send
from tests.presentation.requests.signed_requests import bring, signed
from wallet.credential import credentials
from wallet.models import Wallet

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("signing_key")]
STEPS: dict[str, Callable[..., Any]] = {
    "authorization request parsed": WireFormat.parse_request,
    "DCQL query parsed": dcql.parse,
    "transaction data parsed": entries.parse,
    "request matched with the credential": next_step._match,
    "query held against the credential": evaluation.select,
    "credential found valid": credentials.valid_credential,
    "hash of the parameters": authorization_request.parameters_hash,
    "consent found granted": decisions.granted_for,
    "rows read for the request": reading.read_request_rows,
    "rows read for the interaction": reading.read_interaction_rows,
}
FRESH = iter(range(10_000))


class Counted:
    """Counts the runs of each of STEPS, and of unsealing."""

    def __init__(self) -> None:
        self.runs: Counter[str] = Counter()
        self._names = {step.__code__: name for name, step in STEPS.items()}

    def note(self, frame: FrameType, event: str, _argument: Any) -> None:
        if event != "call":
            return
        if name := self._names.get(frame.f_code):
            self.runs[name] += 1
        elif frame.f_code is sealing.unseal.__code__:
            self.runs[f"opened {frame.f_locals['context']}"] += 1

    @contextmanager
    def request(self) -> Iterator[Counter[str]]:
        """One HTTP request; fails afterwards if anything was done twice."""
        self.runs.clear()
        sys.setprofile(self.note)
        try:
            yield self.runs
        finally:
            sys.setprofile(None)
        assert {name: times for name, times in self.runs.items() if times > 1} == {}


@pytest.fixture
def counted() -> Counted:
    return Counted()


@pytest.fixture
def bank() -> tuple[RelyingParty, Any]:
    """Acme Bank, which may ask for every claim, and its key."""
    return with_key(allowed_claims=["given_name", "family_name"])


def everything() -> dict[str, str | None]:
    """Parameters that need every step: a query for a value, and a payment."""
    said = query(path("given_name", values=["Alice"]), id="basic")
    return {
        "scope": None,
        "dcql_query": json.dumps({"credentials": [said]}),
        "transaction_data": encoded(PAYMENT),
        "nonce": f"a-nonce-of-its-own-{next(FRESH)}",
    }


def test_nothing_is_done_twice_in_a_request_of_a_returning_holder(
    holder: Client, counted: Counted, bank: tuple[RelyingParty, Any], alice: Wallet
) -> None:
    with counted.request() as authorizing:
        page = holder.get(PATH, asked(bank[0], **everything()))
    once = dict(authorizing)
    with counted.request() as asking:
        holder.get(address_of_page(page))
    shown = dict(asking)
    interaction_url = path_of(Interaction.objects.get())
    with counted.request() as answering:
        answer = holder.post(interaction_url, {"decision": "share"})

    assert "vp_token" in answer.headers["Location"]
    taken = {"authorization request parsed", "DCQL query parsed", "transaction data parsed"}
    taken |= {"request matched with the credential", "credential found valid", "hash of the parameters"}
    taken |= {f"opened wallet_credential.sealed_identity:{alice.credential.id}"}
    assert taken | {"rows read for the request"} <= once.keys()
    assert taken | {"rows read for the interaction"} <= answering.keys()
    assert "credential found valid" in shown


def test_nothing_is_done_twice_if_the_decision_was_stored_before(
    holder: Client, counted: Counted, bank: tuple[RelyingParty, Any], alice: Wallet
) -> None:
    holder.get(PATH, asked(bank[0], **everything()))
    interaction = Interaction.objects.get()
    with counted.request():
        holder.get(path_of(interaction))  # for the second time
    decisions.grant(interaction.consent.id, alice, now=timezone.now())

    with counted.request():
        answer = holder.get(path_of(interaction))

    assert "vp_token" in answer.headers["Location"]


@pytest.mark.parametrize("signed_in", [True, False])
@pytest.mark.parametrize("way", ["assertion", "access token"])
def test_nothing_is_done_twice_in_a_push_and_the_request_that_follows(
    client: Client,
    counted: Counted,
    bank: tuple[RelyingParty, Any],
    alice: Wallet,
    sign_in: Any,
    settings: Any,
    way: str,
    signed_in: bool,
) -> None:
    party, key = bank
    if signed_in:
        sign_in(alice)
    form, headers = asked(party, **everything()), {}
    if way == "assertion":
        form |= by_assertion(assertion(party.client_id, key, issuer=settings.BASE_URL))
    else:
        headers = {"Authorization": f"Bearer {access_token(party)}"}

    with counted.request():
        pushed = send(client, form, **headers)
    with counted.request():
        response = go(client, pushed.json()["request_uri"], party)

    assert address_of_page(response).startswith("/consent/" if signed_in else "/wallet/errands/")


def test_nothing_is_done_twice_in_a_signed_request(
    holder: Client, counted: Counted, bank: tuple[RelyingParty, Any], settings: Any
) -> None:
    with counted.request():
        response = bring(holder, bank, signed(bank, settings.BASE_URL, **everything()))

    assert address_of_page(response).startswith("/consent/")


def test_nothing_is_done_twice_where_a_signed_request_is_pushed(
    client: Client, counted: Counted, bank: tuple[RelyingParty, Any], settings: Any
) -> None:
    party, key = bank
    proof = by_assertion(assertion(party.client_id, key, issuer=settings.BASE_URL))

    with counted.request():
        pushed = send(client, proof | {"request": signed(bank, settings.BASE_URL, **everything())})

    assert pushed.status_code == 201
