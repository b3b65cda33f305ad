"""The request log says why a code was not exchanged. The answer on the wire is the same for every reason."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from consent import decisions
from consent.models import Consent
from presentation.models import AuthorizationCode
from presentation.relying_parties.authentication import client_secrets
from presentation.requests.wire_formats.refused_codes import Reason
from sandbox.models import LoggedStep
from tests.presentation.openid_connect.shop import ALL, CALLBACK, Shop, share
from tests.presentation.requests.authorization_requests import PATH
from tests.sandbox.request_log.conftest import registered_by, request_log_of, text
from wallet.models import Wallet

pytestmark = pytest.mark.usefixtures("signing_key")
WITHOUT_PKCE = {"code_challenge": None, "code_challenge_method": None}


def opened(name: str = "My Shop", **fields: Any) -> Shop:
    """A self-registered shop of OpenID Connect, with a secret."""
    party = registered_by(name=name, wire_format="openid", allowed_claims=ALL, **fields)
    party.redirect_uris.create(uri=CALLBACK)
    return Shop(party, client_secrets.rotate(party, now=timezone.now()).text)


@pytest.fixture
def shop(db: None) -> Shop:
    return opened()


def last() -> LoggedStep:
    return LoggedStep.objects.latest("id")


def expired(**_: Any) -> None:
    AuthorizationCode.objects.update(expires_at=timezone.now())


def cleared(**_: Any) -> None:
    AuthorizationCode.objects.all().delete()


def erased(**_: Any) -> None:
    AuthorizationCode.objects.update(sealed_answer=b"")


def unreadable(**_: Any) -> None:
    AuthorizationCode.objects.update(sealed_answer=b"\x01" + b"x" * 40)


def taken_back(alice: Wallet, **_: Any) -> None:
    decisions.take_back(alice, Consent.objects.get().id, now=timezone.now())


def exchanged(shop: Shop, code: str, **_: Any) -> None:
    assert shop.redeems(Client(), code).status_code == 200


def nothing(**_: Any) -> None:
    """Only the exchange itself is wrong."""


BEFORE: dict[str, tuple[Callable[..., None], dict[str, Any], Reason]] = {
    "another address": (nothing, {"redirect_uri": f"{CALLBACK}?lang=en"}, Reason.REDIRECT_URI),
    "no address": (nothing, {"redirect_uri": None}, Reason.REDIRECT_URI),
    "another verifier": (nothing, {"code_verifier": "v" * 43}, Reason.VERIFIER_WRONG),
    "no verifier": (nothing, {"code_verifier": None}, Reason.VERIFIER_MISSING),
    "another code": (nothing, {"code": "c" * 43}, Reason.UNKNOWN),
    "after a minute": (expired, {}, Reason.EXPIRED),
    "long afterwards": (cleared, {}, Reason.UNKNOWN),
    "used twice": (exchanged, {}, Reason.USED),
    "taken back": (taken_back, {}, Reason.NOT_VALID),
    "the wallet was closed": (erased, {}, Reason.GONE),
    "the sealing key was lost": (unreadable, {}, Reason.GONE),
}


@pytest.mark.parametrize(("before", "sent", "reason"), BEFORE.values(), ids=BEFORE.keys())
def test_the_log_names_the_reason_and_the_answer_does_not(
    holder: Client,
    developer: Client,
    alice: Wallet,
    shop: Shop,
    before: Callable[..., None],
    sent: dict[str, Any],
    reason: Reason,
) -> None:
    code = shop.code(holder)
    before(shop=shop, code=code, alice=alice)

    answer = shop.redeems(Client(), code, **sent)

    assert (answer.status_code, answer.json()) == (400, refusal_of_an_unknown_code(shop))
    step = LoggedStep.objects.filter(route="token", status=400).earliest("id")
    assert (step.relying_party, step.error, step.sentence) == (shop.party, "invalid_grant", str(reason))
    assert f"<dd>{reason}</dd>" in text(developer.get(request_log_of(shop.party)))


def refusal_of_an_unknown_code(shop: Shop) -> dict[str, str]:
    answer: dict[str, str] = shop.redeems(Client(), "unknown").json()
    assert answer["error"] == "invalid_grant"
    return answer


def test_a_verifier_without_a_challenge_is_named(holder: Client) -> None:
    shop = opened(pkce_or_nonce=True)
    answer = shop.redeems(Client(), shop.code(holder, **WITHOUT_PKCE))

    assert last().sentence == str(Reason.VERIFIER_UNEXPECTED)
    assert answer.json() == refusal_of_an_unknown_code(shop)


def test_a_code_of_another_client_is_named_to_the_client_that_sends_it_alone(
    holder: Client, shop: Shop
) -> None:
    other = opened("Other Shop")
    code = shop.code(holder)
    before = LoggedStep.objects.filter(relying_party=shop.party).count()
    other.verifiers = shop.verifiers
    answer = other.redeems(Client(), code)

    step = LoggedStep.objects.filter(relying_party=other.party).get()
    assert (step.sentence, step.interaction) == (str(Reason.ANOTHER_CLIENT), None)
    assert LoggedStep.objects.filter(relying_party=shop.party).count() == before
    assert answer.json() == refusal_of_an_unknown_code(other)


def test_a_wrong_secret_is_named_at_the_request_whose_code_it_is(
    holder: Client, developer: Client, shop: Shop
) -> None:
    code = shop.code(holder)
    shop.secret = "wrong"
    answer = shop.redeems(Client(), code)

    assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")
    assert answer.json()["error_description"] == "The client_id or secret is wrong."
    assert last().interaction == AuthorizationCode.objects.get().interaction_id
    assert last().sentence.startswith("The client secret is wrong or has ended")
    assert "sent, but not exchanged" in text(developer.get(request_log_of(shop.party)))


def test_somebody_else_cannot_write_into_the_request_whose_code_they_have(holder: Client, shop: Shop) -> None:
    code, other = shop.code(holder), opened("Other Shop")
    other.secret, other.verifiers = "wrong", shop.verifiers
    other.redeems(Client(), code)

    assert (last().relying_party, last().interaction) == (other.party, None)


def test_a_code_that_nobody_sends_is_named_while_it_works_and_afterwards(
    holder: Client, developer: Client, shop: Shop
) -> None:
    page = request_log_of(shop.party)
    shop.code(holder)
    row = AuthorizationCode.objects.get()
    open_until = f"it can be exchanged until {row.expires_at:%H:%M:%S} UTC"
    assert open_until in text(developer.get(page))
    row.expires_at -= timedelta(minutes=1)
    row.save()
    assert "never sent to the token endpoint while it worked" in text(developer.get(page))
    row.delete()
    assert "never sent to the token endpoint while it worked" in text(developer.get(page))


def test_a_code_in_a_form_that_nobody_exchanges_is_named_too(
    holder: Client, developer: Client, shop: Shop
) -> None:
    holder.get(PATH, shop.asks(response_mode="form_post"))
    assert share(holder).status_code == 200
    assert "not sent to the token endpoint yet" in text(developer.get(request_log_of(shop.party)))


def test_no_secret_code_or_verifier_is_stored(holder: Client, shop: Shop) -> None:
    code = shop.code(holder)
    shop.redeems(Client(), code, code_verifier="v" * 43)
    right, shop.secret = shop.secret, "s" * 43
    shop.redeems(Client(), code)
    shop.secret = right
    shop.redeems(Client(), "c" * 43)

    rows = str(list(LoggedStep.objects.values()))
    assert str(Reason.VERIFIER_WRONG) in rows
    sent = (code, shop.verifiers[-1], right, "v" * 43, "s" * 43, "c" * 43)
    assert not [each for each in sent if each in rows]


def test_a_registered_relying_party_leaves_the_reason_nowhere(
    holder: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = Shop.registered("Registered")
    shop.redeems(Client(), shop.code(holder), code_verifier=None)

    assert not LoggedStep.objects.exists()
    log = capsys.readouterr()
    assert "oauth/v2/token" in log.err
    assert "code_challenge" not in log.out + log.err
