"""People prove who they are with another wallet: from the choice of the device to the verified identity."""

import json
import zlib
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.conf import settings as django_settings
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from jwcrypto.jwk import JWK

from infra import base64url
from infra.sealing import unseal
from keys.jwk import public_der
from keys.models import SigningKey
from presentation.dcql import parsing
from tests.day_inputs import typed_day
from tests.wallet.providers.other_wallet_play import browser_of, link_on
from tests.wallet.providers.pids import (
    FORM,
    NORA_AS_IN_HER_PID,
    NORA_TYPES,
    Authority,
    OtherPersonsWallet,
    StatusServer,
    encrypted,
    fetched,
    posted,
    status_list,
    status_server,
    world,
)
from tests.wallet.providers.plays import Call
from wallet.checks import access_certificates
from wallet.credential import credentials
from wallet.credential.details import MEMBERS
from wallet.identity import progress, sealed_findings
from wallet.identity.sweeping import sweep
from wallet.models import Credential, IdentityEvidence, IdentityVerification, RedirectTask, Wallet
from wallet.providers import registry
from wallet.providers.options import OptionError
from wallet.providers.other_wallet.request_objects import query as our_query
from wallet.providers.other_wallet.transactions import LIFE, RETURN_WITHIN

State = IdentityVerification.State
pytestmark = pytest.mark.slow
Asked = dict[str, Any]
OTHER_BROWSER = "c" * 43


@pytest.fixture
def nora_begins(
    settings: Any, client: Client, nora: Wallet, redirect_task: RedirectTask, sign_in: Any
) -> str:
    """Nora has chosen this provider; the address of its page."""
    settings.IDENTITY_PROVIDERS = {"wallet": world().settings}
    sign_in(nora)
    response = client.post(reverse("wallet_identity_start", args=[redirect_task.id]))
    assert response.status_code == 303
    assert response.url == reverse("wallet_identity_other_wallet", args=[redirect_task.id])
    return response.url


def attempt() -> IdentityVerification:
    return IdentityVerification.objects.latest("created_at")


def send(call: Call) -> Any:
    """A wallet's call; it has no cookies."""
    return Client().post(call.path, call.body, content_type=call.headers["content-type"])


def scanned(client: Client, address: str, **typed: str) -> dict[str, Any]:
    """The request behind the QR code that Nora gets when she types this."""
    response = client.post(address, {"device": "other", **NORA_TYPES, **typed})
    assert response.status_code == 303, response.content.decode()
    return fetched(Client(), link_on(client.get(address)))


def memory() -> str:
    found = attempt()
    assert found.sealed_memory is not None
    context = f"wallet_identityverification.sealed_memory:{found.id}"
    return unseal(found.sealed_memory, context=context).decode()


@pytest.fixture
def asked(client: Client, nora_begins: str) -> Asked:
    """The request that a wallet on this device fetches."""
    return fetched(Client(), link_on(client.get(nora_begins)))


# --- On the same device ------------------------------------------------------------------------------------


def test_a_link_verifies_whoever_comes_back_to_the_browser_in_which_they_began(
    nora_begins: str, client: Client, asked: Asked
) -> None:
    reply = send(OtherPersonsWallet().answer(asked))
    assert reply.status_code == 200
    back = urlsplit(reply.json()["redirect_uri"])
    assert client.get(nora_begins).status_code == 200  # nothing counts before
    assert attempt().state == State.STARTED
    response = client.get(f"{back.path}?{back.query}", follow=True)
    assert [url for url, _ in response.redirect_chain][-1] == "/done/"
    assert attempt().state == State.APPROVED


def test_the_evidence_says_what_a_pid_is_and_ends_with_the_pid_and_not_with_the_copy(
    client: Client, nora_begins: str
) -> None:
    request = scanned(client, nora_begins)
    assert send(OtherPersonsWallet().answer(request)).json() == {}
    evidence = IdentityEvidence.objects.get()
    assert (evidence.method, evidence.trust_framework, evidence.assurance_level) == (
        "wallet",
        "eidas",
        "high",
    )
    assert (evidence.document_kind, evidence.issuing_country) == ("pid", "DE")
    assert evidence.document_expires_on == date(2035, 1, 1)
    assert evidence.verified_by == "PID authority of Germany"
    ends_in = Credential.objects.get().expires_at - evidence.verified_at
    assert ends_in > timedelta(days=2)  # the copy ends tomorrow


def test_in_another_browser_the_answer_is_refused_and_the_check_ends(client: Client, asked: Asked) -> None:
    back = urlsplit(send(OtherPersonsWallet().answer(asked)).json()["redirect_uri"])
    victim = Client()
    victim.cookies[django_settings.BROWSER_COOKIE_NAME] = OTHER_BROWSER
    response = victim.get(f"{back.path}?{back.query}")
    assert response.status_code == 403
    found = attempt()
    assert (found.state, found.reason, found.sealed_memory) == (State.CANCELLED, "other_browser", None)
    client.get(f"{back.path}?{back.query}", follow=True)
    assert not Credential.objects.exists()


def test_without_the_code_of_this_answer_a_return_changes_nothing(client: Client, asked: Asked) -> None:
    back = urlsplit(send(OtherPersonsWallet().answer(asked)).json()["redirect_uri"])
    before = attempt().sealed_memory
    for query in (
        "",
        "check=x",
        back.query[:-1],
        back.query + "x",
        back.query.split("&")[0],
        "check=&response_code=",
    ):
        client.get(f"{back.path}?{query}")
        assert (attempt().state, attempt().sealed_memory) == (State.STARTED, before)


def test_a_link_never_settles_by_waiting(nora_begins: str, client: Client, asked: Asked, now: Any) -> None:
    send(OtherPersonsWallet().answer(asked))
    text = client.get(nora_begins).content.decode()
    assert "Go on in the page that it opens in this browser" in text
    assert "Ärla" not in text
    progress.refresh(attempt(), now=now)
    assert attempt().state == State.STARTED
    sweep(now=now + RETURN_WITHIN + timedelta(minutes=30))
    assert (attempt().state, attempt().reason) == (State.CANCELLED, "other_browser")


def test_a_return_long_after_the_answer_does_not_count(
    asked: Asked, redirect_task: RedirectTask, now: Any
) -> None:
    back = urlsplit(send(OtherPersonsWallet().answer(asked)).json()["redirect_uri"])
    message = progress.Message(True, "GET", "", dict(parse_qsl(back.query)), {}, b"")
    late = now + RETURN_WITHIN + timedelta(seconds=5)
    with pytest.raises(progress.MessageRefusedError):
        progress.receive("wallet", message, browser=redirect_task.browser, now=late)
    progress.receive("wallet", message, browser=redirect_task.browser, now=now)
    assert attempt().state == State.APPROVED


# --- Across devices ----------------------------------------------------------------------------------------


def test_a_qr_code_verifies_without_a_way_back(
    client: Client, nora_begins: str, redirect_task: RedirectTask
) -> None:
    request = scanned(client, nora_begins)
    reply = send(OtherPersonsWallet().answer(request))
    assert (reply.status_code, reply.json()) == (200, {})
    assert attempt().state == State.APPROVED
    response = client.get(nora_begins, follow=True)
    assert response.redirect_chain[-1][0] == "/done/"


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        *(({name: word},) * 2 for name, word in [("family_name", "Victor"), ("given_name", "Mallory")]),
        ({"given_name": ""}, {"given_name": ""}),
        (typed_day("birth_date", "1990-02-02"), {"birth_date": "1990-02-02"}),
    ],
)
def test_somebody_else_than_who_was_typed_goes_to_review(
    client: Client, nora_begins: str, typed: dict[str, str], read: dict[str, str]
) -> None:
    """The attacker shows a victim the QR code: the victim's identity is not in the attacker's wallet."""
    request = scanned(client, nora_begins, **typed)
    assert send(OtherPersonsWallet().answer(request)).status_code == 200
    assert (attempt().state, attempt().reason) == (State.REVIEW, "details_differ")
    typed_data = sealed_findings.unseal(attempt())[2]
    assert read.items() <= typed_data.items()  # beside what was read, for the operator
    text = client.get(nora_begins, follow=True).content.decode()
    assert "Your check needs a closer look" in text
    assert "Ärla" not in text


@pytest.mark.parametrize(
    "typed",
    [
        {"given_name": "NORA ARLA"},
        {"given_name": "Ärla"},
        {"family_name": "oneill"},
        {"family_name": "O’NEILL"},
    ],
)
def test_names_may_be_typed_as_people_type_them(
    client: Client, nora_begins: str, typed: dict[str, str]
) -> None:
    send(OtherPersonsWallet().answer(scanned(client, nora_begins, **typed)))
    assert attempt().state == State.APPROVED


def test_the_page_says_whose_account_is_verified_and_shows_the_code_without_styles(
    client: Client, nora_begins: str, nora: Wallet
) -> None:
    scanned(client, nora_begins)
    text = client.get(nora_begins).content.decode()
    assert f"The account that is verified is <strong>{nora.email}</strong>" in text
    svg = text[text.index("<svg") : text.index("</svg>")]
    assert "style=" not in svg


def test_before_the_code_a_name_and_a_birth_date_have_to_be_typed(client: Client, nora_begins: str) -> None:
    born, unborn = (typed_day("birth_date", day) for day in ("1990-02-01", "2990-02-01"))
    for typed in ({}, born, {"given_name": "Nora", **unborn}):
        response = client.post(nora_begins, {"device": "other", **typed})
        assert response.status_code == 200
        assert b"<svg" not in response.content
        assert "There is a problem" in response.content.decode()


def test_there_is_one_request_at_a_time(client: Client, nora_begins: str) -> None:
    on_this_device = fetched(Client(), link_on(client.get(nora_begins)))
    first = scanned(client, nora_begins)
    second = scanned(client, nora_begins)
    secret = {request[name] for request in (on_this_device, first, second) for name in ("nonce", "state")}
    assert len(secret) == 6
    for over in (on_this_device, first):
        assert send(OtherPersonsWallet().answer(over)).status_code == 400
    assert attempt().state == State.STARTED
    assert send(OtherPersonsWallet().answer(second)).status_code == 200
    assert attempt().state == State.APPROVED


def test_the_code_is_over_after_five_minutes(client: Client, nora_begins: str, now: Any) -> None:
    request = scanned(client, nora_begins)
    assert request["exp"] - request["iat"] == LIFE["code"].total_seconds() == 300
    verification = attempt()
    provider = registry.by_name("wallet")
    later = now + LIFE["code"] + timedelta(seconds=5)
    answer = OtherPersonsWallet().answer(request)
    message = progress.Message(False, "POST", answer.path.split("callback/")[1], {}, FORM, answer.body)
    with pytest.raises(progress.MessageRefusedError):
        progress.receive("wallet", message, now=later)
    assert (
        provider.start(progress.check_of(verification), now=later).reference
        != verification.provider_reference
    )


def test_an_operator_can_switch_qr_codes_off(client: Client, nora_begins: str, settings: Any) -> None:
    settings.IDENTITY_PROVIDERS = {"wallet": {**world().settings, "qr": "off"}}
    assert "Show a QR code" not in client.get(nora_begins).content.decode()
    response = client.post(nora_begins, {"device": "other", **NORA_TYPES})
    assert b"<svg" not in response.content


def test_an_operator_looks_at_every_answer_to_a_qr_code_unless_the_settings_say_otherwise(
    client: Client, nora_begins: str, settings: Any
) -> None:
    by_default = {name: value for name, value in world().settings.items() if name != "qr"}
    settings.IDENTITY_PROVIDERS = {"wallet": by_default}
    send(OtherPersonsWallet().answer(scanned(client, nora_begins)))
    assert attempt().state == State.REVIEW


# --- The request -------------------------------------------------------------------------------------------


def test_the_request_is_the_same_until_it_is_answered_and_then_gone(client: Client, nora_begins: str) -> None:
    link = link_on(client.get(nora_begins))
    request = fetched(Client(), link)
    assert fetched(Client(), link) == request
    assert fetched(Client(), link, wallet_nonce="n-1", wallet_metadata="{}") == {
        **request,
        "wallet_nonce": "n-1",
    }
    assert link_on(client.get(nora_begins)) == link
    send(OtherPersonsWallet().answer(request))
    path = urlsplit(request["response_uri"]).path.replace("/answer/", "/request/")
    assert Client().get(path).status_code == 404


def test_a_request_is_gone_when_the_certificate_has_changed_its_name(
    client: Client, nora_begins: str, settings: Any
) -> None:
    link = link_on(client.get(nora_begins))
    request = fetched(Client(), link)
    settings.IDENTITY_PROVIDERS = {"wallet": {**world().settings, "client_id_prefix": "x509_san_dns"}}
    path = urlsplit(request["response_uri"]).path.replace("/answer/", "/request/")
    assert Client().get(path).status_code == 404
    assert send(OtherPersonsWallet().answer(request)).status_code == 200  # the wallet has fetched it before


def test_the_request_is_never_cached_and_asks_for_nothing_else(client: Client, nora_begins: str) -> None:
    request = fetched(Client(), link_on(client.get(nora_begins)))
    path = urlsplit(request["response_uri"]).path.replace("/answer/", "/request/")
    assert "no-store" in Client().get(path).headers["Cache-Control"]
    assert "redirect_uri" not in request
    assert "transaction_data" not in request
    assert "d" not in request["client_metadata"]["jwks"]["keys"][0]
    [asked] = request["dcql_query"]["credentials"]
    assert "picture" not in str(asked)


@pytest.mark.parametrize("details", [(), ("address",), tuple(MEMBERS)])
def test_our_query_is_sound_and_what_not_every_pid_has_may_be_missing(details: tuple[str, ...]) -> None:
    assert parsing.parse(json.dumps(our_query(details)))
    (asked,) = our_query(details)["credentials"]
    most, *others = map(set, asked["claim_sets"])
    assert most == {claim["id"] for claim in asked["claims"]} >= set(details)
    assert most - others[-1] == {"expiry", *details}
    assert len(asked["claim_sets"]) == 2 ** (1 + len(details))
    assert [len(each) for each in asked["claim_sets"]] == sorted(map(len, asked["claim_sets"]), reverse=True)


# --- What is refused ---------------------------------------------------------------------------------------


def test_a_doubled_answer_changes_nothing(asked: Asked) -> None:
    answer = OtherPersonsWallet().answer(asked)
    assert send(answer).status_code == 200
    before = memory()
    stopped = posted(asked, error="access_denied", state=asked["state"])
    for again in (answer, stopped, OtherPersonsWallet(issuer=world().stranger).answer(asked)):
        reply = send(again)
        assert (reply.status_code, reply.json()) == (400, {"error": "invalid_request"})
        assert memory() == before


def test_the_private_key_is_gone_with_the_answer_and_nothing_else_is_kept(asked: Asked) -> None:
    assert '"d":' in memory()
    more = {**NORA_AS_IN_HER_PID, "place_of_birth": {"locality": "Köln"}, "document_number": "T22000129"}
    send(OtherPersonsWallet(claims=more).answer(asked))
    kept = memory()
    assert '"d":' not in kept
    for secret in (asked["nonce"], asked["state"], "locality", "T22000129"):
        assert secret not in kept


def test_details_are_asked_for_and_kept_where_the_provider_is_set_to_verify_them(
    client: Client, settings: Any, nora_begins: str
) -> None:
    settings.IDENTITY_PROVIDERS = {"wallet": {**world().settings, "details": "place_of_birth, document"}}
    request = fetched(Client(), link_on(client.get(nora_begins)))
    asked = [claim["path"] for claim in request["dcql_query"]["credentials"][0]["claims"]]
    assert asked[-2:] == [["place_of_birth"], ["document_number"]]
    more = {"address": {"locality": "Köln"}, "place_of_birth": {"locality": "Bonn"}}
    wallet = OtherPersonsWallet(claims={**NORA_AS_IN_HER_PID, **more, "document_number": "T22"})
    back = urlsplit(send(wallet.answer(request)).json()["redirect_uri"])
    client.get(f"{back.path}?{back.query}", follow=True)
    found = credentials.disclosed(Credential.objects.get(), today=date(2026, 1, 1))
    assert found["place_of_birth"] == {"locality": "Bonn"}
    assert (found["document"]["type"], found["document"]["number"]) == ("pid", "T22")
    assert "address" not in found


def nothing_changes(request: dict[str, Any], call: Call) -> None:
    before = attempt()
    reply = send(call)
    assert reply.status_code == 400
    after = attempt()
    assert (after.state, after.sealed_memory) == (before.state, before.sealed_memory)


def right(wallet: OtherPersonsWallet, request: dict[str, Any]) -> dict[str, Any]:
    return {"vp_token": {"pid": [wallet.presentation(request)]}}


REFUSED: dict[str, Any] = {
    "another audience": lambda wallet, request: wallet.answer({**request, "client_id": "x509_hash:else"}),
    "another nonce": lambda wallet, request: wallet.answer({**request, "nonce": "else"}),
    "another state": lambda wallet, request: wallet.answer({**request, "state": "else"}),
    "an old key binding": lambda wallet, request: wallet.answer(
        request, now=world().access.certificate.not_valid_before_utc
    ),
    "two presentations": lambda wallet, request: posted(
        request, response=encrypted(request, {"vp_token": {"pid": [wallet.presentation(request)] * 2}})
    ),
    "more than was asked for": lambda wallet, request: posted(
        request, response=encrypted(request, {"vp_token": right(wallet, request)["vp_token"] | {"else": []}})
    ),
    "another query": lambda wallet, request: posted(
        request, response=encrypted(request, {"vp_token": {"else": [wallet.presentation(request)]}})
    ),
    "no array": lambda wallet, request: posted(
        request, response=encrypted(request, {"vp_token": {"pid": wallet.presentation(request)}})
    ),
    "not encrypted": lambda wallet, request: posted(request, vp_token="{}", state=request["state"]),
    "compressed": lambda wallet, request: posted(
        request, response=encrypted(request, right(wallet, request), zip="DEF")
    ),
    "another kid": lambda wallet, request: posted(
        request, response=encrypted(request, right(wallet, request), kid="else")
    ),
    "another kind of encryption": lambda wallet, request: posted(
        request, response=encrypted(request, right(wallet, request), alg="ECDH-ES+A128KW")
    ),
    "encrypted for somebody else": lambda wallet, request: posted(
        request,
        response=encrypted(request, right(wallet, request), key=JWK.generate(kty="EC", crv="P-256")),
    ),
    "not JSON": lambda wallet, request: posted(request, response=encrypted(request, b"{")),
    "an error of nobody": lambda wallet, request: posted(request, error="access_denied"),
    "an error and an answer": lambda wallet, request: posted(
        request, error="access_denied", state=request["state"], response="x"
    ),
    "a field twice": lambda wallet, request: Call(
        urlsplit(request["response_uri"]).path, "POST", b"response=a&response=b", FORM
    ),
    "no form": lambda wallet, request: Call(
        urlsplit(request["response_uri"]).path, "POST", b"{}", {"content-type": "application/json"}
    ),
    "not UTF-8": lambda wallet, request: Call(
        urlsplit(request["response_uri"]).path, "POST", b"response=%ff", FORM
    ),
}


@pytest.mark.parametrize("how", REFUSED)
def test_what_is_no_answer_to_the_request_changes_nothing(asked: Asked, how: str) -> None:
    nothing_changes(asked, REFUSED[how](OtherPersonsWallet(), asked))
    assert send(OtherPersonsWallet().answer(asked)).status_code == 200


WRONG_PIDS: dict[str, Any] = {
    "another type": {"plain": {"vct": "urn:example:pid"}},
    "the national type of another country": {"plain": {"vct": "urn:eudi:pid:fr:1"}},
    "a country that is not the anchor's": {"claims": {**NORA_AS_IN_HER_PID, "issuing_country": "FR"}},
    "over": {"plain": {"exp": 1_700_000_000}},
    "without an end": {"plain": {"exp": None}},
}


@pytest.mark.parametrize("how", WRONG_PIDS)
def test_a_pid_that_is_wrong_changes_nothing(asked: Asked, how: str) -> None:
    nothing_changes(asked, OtherPersonsWallet(**WRONG_PIDS[how]).answer(asked))


@pytest.mark.parametrize("vct", ["urn:eudi:pid:1", "urn:eudi:pid:de:1", "urn:eudi:pid:de:2"])
def test_the_national_type_of_the_anchors_country_is_a_pid(
    client: Client, nora_begins: str, vct: str
) -> None:
    request = scanned(client, nora_begins)
    assert (
        send(OtherPersonsWallet(plain={"vct": vct, "iss": "https://pid.example"}).answer(request)).status_code
        == 200
    )
    assert attempt().state == State.APPROVED


def test_addresses_that_nobody_made_are_refused(client: Client, nora_begins: str) -> None:
    base = "/wallet/identity/wallet/"
    for path in (
        "",
        "x",
        "request/",
        "request/x",
        "request/%00",
        "answer/%00",
        "request/" + "a" * 32,
        "%ff/%0a",
    ):
        assert Client().get(f"{base}callback/{path}").status_code == 404, path
    for handle in ("%00", "a" * 32, "é" * 32, "x" * 5000, ""):
        call = Call(f"{base}callback/answer/{handle}", "POST", b"response=x", FORM)
        assert send(call).status_code in (400, 404), handle
        response = client.get(f"{base}return/?check={handle}&response_code=%00")
        assert response.status_code in (303, 404)
    assert attempt().state == State.STARTED


def test_a_huge_answer_is_refused(asked: Asked) -> None:
    for size, status in ((65_500, 400), (70_000, 413), (300_000, 413)):
        assert send(posted(asked, response="a" * size)).status_code == status
    assert attempt().state == State.STARTED


# --- What ends the check without a result ------------------------------------------------------------------


@pytest.mark.parametrize("device", ["this", "other"])
def test_a_person_who_stops_in_the_wallet_has_stopped(
    client: Client, nora_begins: str, redirect_task: RedirectTask, device: str
) -> None:
    if device == "this":
        request = fetched(Client(), link_on(client.get(nora_begins)))
    else:
        request = scanned(client, nora_begins)
    reply = send(posted(request, error="access_denied", state=request["state"]))
    assert reply.status_code == 200
    assert (attempt().state, attempt().reason, attempt().submissions) == (State.CANCELLED, "stopped", 0)
    back = reply.json().get("redirect_uri", "")
    assert bool(back) == (device == "this")
    if back:
        assert client.get(urlsplit(back).path).url == reverse("wallet_identity", args=[redirect_task.id])


@pytest.mark.parametrize(
    "missing", [("given_name", "family_name"), ("birthdate",), ("nationalities",), ("issuing_country",)]
)
def test_a_claim_that_was_not_given_ends_the_check(client: Client, nora_begins: str, missing: Any) -> None:
    request = scanned(client, nora_begins)
    assert send(OtherPersonsWallet().answer(request, without=missing)).status_code == 200
    assert (attempt().state, attempt().reason) == (State.CANCELLED, "claims_missing")


@pytest.mark.parametrize("nothing", [None, "", "-"])
@pytest.mark.parametrize("missing", ["given_name", "family_name"])
def test_who_has_one_name_is_verified_with_it(
    client: Client, nora_begins: str, missing: str, nothing: Any
) -> None:
    person = {name: value for name, value in NORA_AS_IN_HER_PID.items() if name != missing}
    person |= {} if nothing is None else {missing: nothing}
    send(OtherPersonsWallet(claims=person).answer(scanned(client, nora_begins, **{missing: ""})))
    shown = credentials.preview(Credential.objects.get(), [(missing,)], today=timezone.localdate())
    assert str(shown[0].value) == "(none)"


def test_a_pid_that_does_not_say_when_it_ends_is_good(client: Client, nora_begins: str) -> None:
    request = scanned(client, nora_begins)
    send(OtherPersonsWallet().answer(request, without=("date_of_expiry",)))
    assert attempt().state == State.APPROVED
    assert IdentityEvidence.objects.get().document_expires_on is None


STRANGERS: dict[str, Any] = {
    "of another authority": lambda: world().stranger,
    "its own authority": lambda: Authority.make("Self-made"),
    "whose key may not sign": lambda: world().authority.certifies("A server", signs=False),
    "certified by an issuer": lambda: world().issuer.certifies("Somebody's friend"),
    "whose certificate has ended": lambda: world().authority.certifies("A former PID provider", days=-1),
}


@pytest.mark.parametrize("who", STRANGERS)
def test_an_issuer_that_the_operator_does_not_know_ends_the_check(
    client: Client, nora_begins: str, who: str
) -> None:
    request = scanned(client, nora_begins)
    assert send(OtherPersonsWallet(issuer=STRANGERS[who]()).answer(request)).status_code == 200
    assert (attempt().state, attempt().reason) == (State.CANCELLED, "issuer_unknown")


# --- Odd identities ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claim", "value"),
    [
        ("birthdate", "1990-00-12"),
        ("birthdate", "0000-02-01"),
        ("birthdate", "1700-01-01"),
        ("birthdate", 1990),
        ("given_name", "n" * 151),
        ("given_name", {"en": "Nora"}),
        ("nationalities", ["DEU"]),
        ("nationalities", "DE"),
        ("date_of_expiry", "2035-00-00"),
        ("date_of_expiry", 2035),
    ],
)
def test_what_an_issuer_says_oddly_goes_to_review(
    client: Client, nora_begins: str, claim: str, value: Any
) -> None:
    request = scanned(client, nora_begins)
    assert (
        send(OtherPersonsWallet(claims={**NORA_AS_IN_HER_PID, claim: value}).answer(request)).status_code
        == 200
    )
    assert (attempt().state, attempt().reason) == (State.REVIEW, "unreadable")


@pytest.mark.parametrize(
    ("said", "kept"),
    [(["QU"], "(none)"), (["QS"], "(none)"), (["DE", "QU"], "Germany"), (["FR", "FR"], "France")],
)
def test_no_known_nationality_is_none(client: Client, nora_begins: str, said: list[str], kept: str) -> None:
    request = scanned(client, nora_begins)
    send(OtherPersonsWallet(claims={**NORA_AS_IN_HER_PID, "nationalities": said}).answer(request))
    shown = credentials.preview(Credential.objects.get(), [("nationalities",)], today=timezone.localdate())
    assert str(shown[0].value) == kept


def test_a_pid_that_has_ended_goes_to_review(client: Client, nora_begins: str) -> None:
    request = scanned(client, nora_begins)
    send(OtherPersonsWallet(claims={**NORA_AS_IN_HER_PID, "date_of_expiry": "2020-01-01"}).answer(request))
    assert (attempt().state, attempt().reason) == (State.REVIEW, "document_expired")


# --- Status ------------------------------------------------------------------------------------------------


def with_status(server: StatusServer, idx: int = 0) -> OtherPersonsWallet:
    return OtherPersonsWallet(plain={"status": {"status_list": {"idx": idx, "uri": server.uri}}})


@pytest.fixture
def published() -> Iterator[StatusServer]:
    """Where the status list is, and what it says."""
    with status_server() as server:
        yield server


@pytest.mark.parametrize(
    ("idx", "state", "reason"),
    [
        (0, State.APPROVED, ""),
        (1023, State.APPROVED, ""),
        (5, State.DECLINED, "pid_revoked"),
        (6, State.CANCELLED, "pid_suspended"),
    ],
)
def test_the_list_says_whether_a_pid_is_valid(
    client: Client, nora_begins: str, published: StatusServer, idx: int, state: str, reason: str
) -> None:
    published.publish(revoked={5: 1, 6: 2})
    send(with_status(published, idx).answer(scanned(client, nora_begins)))
    assert (attempt().state, attempt().reason) == (state, reason)


def test_the_list_is_not_asked_before_the_browser_is_back(
    nora_begins: str, client: Client, asked: Asked, published: StatusServer
) -> None:
    before = published.asked
    back = urlsplit(send(with_status(published).answer(asked)).json()["redirect_uri"])
    client.get(nora_begins)
    assert published.asked == before
    client.get(f"{back.path}?{back.query}")
    assert published.asked == before + 1
    assert attempt().state == State.APPROVED


def bodies(uri: str) -> dict[str, Any]:
    good = status_list(uri)
    head, payload, signature = good.split(".")
    bomb = zlib.compress(bytes(64 * 1024 * 1024), 9)
    return {
        "another key": world().stranger.signs("statuslist+jwt", {"sub": uri}),
        "another list": status_list(uri, sub=uri + "2"),
        "over": status_list(uri, exp=1_700_000_000),
        "of the future": status_list(uri, iat=4_000_000_000),
        "a broken signature": f"{head}.{payload}.{signature[:-4]}AAAA",
        "no token": "x",
        "another kind": world().issuer.signs("jwt", {"sub": uri}),
        "no list": status_list(uri, status_list=[]),
        "odd bits": status_list(uri, status_list={"bits": 3, "lst": "eJw"}),
        "not compressed": status_list(uri, status_list={"bits": 2, "lst": "AAAA"}),
        "a bomb": status_list(uri, status_list={"bits": 2, "lst": base64url.encode(bomb)}),
        "too long": "x" * (3 * 1024 * 1024),
    }


KINDS = (
    *(
        "another key",
        "another list",
        "over",
        "of the future",
        "a broken signature",
        "no token",
        "another kind",
    ),
    *("no list", "odd bits", "not compressed", "a bomb", "too long"),
)


@pytest.mark.parametrize("kind", KINDS)
def test_a_list_that_cannot_be_believed_is_asked_for_again_and_then_a_person_decides(
    client: Client, nora_begins: str, published: StatusServer, now: Any, kind: str
) -> None:
    published.body = bodies(published.uri)[kind].encode()
    send(with_status(published).answer(scanned(client, nora_begins)))
    assert attempt().state == State.PROCESSING
    assert "<h1>Checking your identity</h1>" in client.get(nora_begins, follow=True).content.decode()
    progress.refresh(attempt(), now=now + timedelta(minutes=6))
    assert (attempt().state, attempt().reason) == (State.REVIEW, "status_unknown")


def test_when_the_list_can_be_had_again_the_check_ends(
    client: Client, nora_begins: str, published: StatusServer
) -> None:
    published.status = 503
    send(with_status(published).answer(scanned(client, nora_begins)))
    assert attempt().state == State.PROCESSING
    published.status = 200
    client.get(nora_begins, follow=True)
    assert attempt().state == State.APPROVED


@pytest.mark.parametrize(
    "status", [{"identifier_list": {}}, [], "x", {"status_list": {"idx": "5", "uri": "https://x"}}]
)
def test_a_kind_of_status_that_is_not_understood_goes_to_review(
    client: Client, nora_begins: str, status: Any
) -> None:
    send(OtherPersonsWallet(plain={"status": status}).answer(scanned(client, nora_begins)))
    assert (attempt().state, attempt().reason) == (State.REVIEW, "status_unknown")


# --- Settings ----------------------------------------------------------------------------------------------


def fault(**changes: str) -> str:
    values = {**world().settings, **changes}
    with pytest.raises(OptionError) as found:
        registry.load(
            "wallet", {k: v for k, v in values.items() if v}, own_framework="https://a", loopback=True
        )
    return str(found.value)


def test_settings_that_do_not_fit_are_said_one_by_one() -> None:
    w = world()
    other = w.access_authority.certifies("Another", dns="else.example")
    alone = w.write("self-signed.pem", Authority.make("Self-made").pem)
    empty = w.folder / "empty"
    empty.mkdir(exist_ok=True)
    leaves = w.folder / "leaves"
    leaves.mkdir(exist_ok=True)
    (leaves / "a.pem").write_bytes(w.issuer.pem)
    broken = w.folder / "broken"
    broken.mkdir(exist_ok=True)
    (broken / "a.der").write_bytes(b"0")
    aimless = w.folder / "aimless"
    aimless.mkdir(exist_ok=True)
    (aimless / "a.pem").write_bytes(w.authority.pem)
    wallet = "IDENTITY_PROVIDERS_FILE: wallet."
    key, certificate = f"{wallet}request_key", f"{wallet}access_certificate"
    assert fault(request_key="").startswith(key)
    assert fault(request_key="/nowhere").startswith(key)
    assert fault(request_key=w.write("other.key", other.key_pem)).startswith(f"{key} must be the private key")
    assert fault(request_key=w.write("no.key", b"x")).startswith(key)
    assert fault(access_certificate=w.write("no.pem", b"x")).startswith(certificate)
    assert "self-signed" in fault(
        access_certificate=alone, request_key=w.write("x.key", Authority.make("x").key_pem)
    )
    mixed = w.write("mixed.pem", w.access.pem + w.issuer.pem)
    assert fault(access_certificate=mixed).startswith(certificate)
    named = {
        "access_certificate": w.write("else.pem", other.pem),
        "request_key": w.write("e.key", other.key_pem),
    }
    assert "host of BASE_URL" in fault(**named, client_id_prefix="x509_san_dns")
    anchors = f"{wallet}trust_anchors"
    for folder in (empty, leaves, broken, w.folder / "nowhere"):
        assert fault(trust_anchors=str(folder)).startswith(anchors)
    assert "each with a .purposes file beside it" in fault(trust_anchors=str(aimless))
    for text in (b"", b"every", b"1.2, 1.3", b"\xff"):
        (aimless / "a.purposes").write_bytes(text)
        assert ".purposes" in fault(trust_anchors=str(aimless))
    assert fault(qr="maybe").startswith(f"{wallet}qr")
    assert fault(scheme="openid4vp://").startswith(f"{wallet}scheme")
    assert fault(colour="red").startswith(f"{wallet}colour")


def checked() -> list[str]:
    return [str(message.id) for message in access_certificates(None)]


@pytest.mark.django_db
def test_a_key_that_signs_credentials_signs_no_requests(settings: Any, signing_key: Any) -> None:
    settings.IDENTITY_PROVIDERS = {"wallet": world().settings}
    assert checked() == []
    SigningKey.objects.update(public_key=public_der(world().access.key.public_key()))
    assert checked() == ["wallet.E002"]


@pytest.mark.django_db
def test_the_end_of_the_certificate_is_announced(settings: Any) -> None:
    ending = world().access_authority.certifies("This service", days=29)
    files = {
        "request_key": world().write("ending.key", ending.key_pem),
        "access_certificate": world().write("ending.pem", ending.pem),
    }
    settings.IDENTITY_PROVIDERS = {"wallet": {**world().settings, **files}}
    assert checked() == ["wallet.I002"]


def test_the_certificate_may_name_the_host_instead(client: Client, nora_begins: str, settings: Any) -> None:
    settings.IDENTITY_PROVIDERS = {"wallet": {**world().settings, "client_id_prefix": "x509_san_dns"}}
    client.post(nora_begins, {"device": "this"})
    request = fetched(Client(), link_on(client.get(nora_begins)))
    assert request["client_id"] == "x509_san_dns:localhost"
    assert send(OtherPersonsWallet().answer(request)).status_code == 200


def test_with_a_certificate_that_has_ended_another_check_is_offered(
    settings: Any, client: Client, nora: Wallet, redirect_task: RedirectTask, sign_in: Any
) -> None:
    ended = world().access_authority.certifies("This service", days=-1)
    files = {
        "request_key": world().write("ended.key", ended.key_pem),
        "access_certificate": world().write("ended.pem", ended.pem),
    }
    settings.IDENTITY_PROVIDERS = {"wallet": {**world().settings, **files}}
    sign_in(nora)
    assert client.post(reverse("wallet_identity_start", args=[redirect_task.id])).status_code == 502


def test_the_page_is_nobody_elses(client: Client, nora_begins: str, nora: Wallet) -> None:
    stranger = browser_of(attempt())
    stranger.cookies[django_settings.BROWSER_COOKIE_NAME] = OTHER_BROWSER
    assert stranger.get(nora_begins).status_code == 404
