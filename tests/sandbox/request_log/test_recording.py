"""Every step of the requests of self-registered relying parties is stored, without values; of no others."""

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, connection
from django.test import Client
from django.utils import timezone

from presentation.models import Interaction, RelyingParty
from presentation.relying_parties.authentication import client_secrets
from sandbox.models import LoggedStep
from sandbox.request_log import recording
from tests.forgery import new_key, public_jwk
from tests.people import ALICE, NORA
from tests.personal_data import stored
from tests.presentation.clients import FORM, access_token, ask, assertion, basic, by_assertion
from tests.presentation.openid_connect.shop import ALL, Shop, user_info
from tests.presentation.requests.authorization_requests import PATH, asked, encoded, fragment
from tests.presentation.requests.deciding import SignIn, decide
from tests.sandbox.request_log.conftest import registered_by, steps
from wallet.models import RedirectTask, Wallet

pytestmark = pytest.mark.usefixtures("signing_key")
PAR, VERIFY, OUTCOME = (
    f"/verifiable-credentials/v1/presentation/{name}" for name in ("par", "verify", "outcome")
)
NONCE = "n-0S6_WzA2Mj~0123456"


def test_a_flow_of_pages_is_stored_step_by_step_under_its_interaction(
    client: Client, alice: Wallet, own: RelyingParty, sign_in: SignIn
) -> None:
    client.get(PATH, asked(own))
    redirect_task = RedirectTask.objects.get()
    client.get(f"/wallet/errands/{redirect_task.id}/sign-in/")
    sign_in(alice)
    client.get(f"/wallet/errands/{redirect_task.id}/identity/")
    interaction = Interaction.objects.get()
    resume = f"/verifiable-credentials/v1/presentation/interactions/{interaction.id}/"
    client.get(client.get(resume).headers["Location"])
    answer = client.post(resume, {"decision": "share"})

    assert "vp_token" in fragment(answer.headers["Location"])
    assert steps(interaction=interaction.id, relying_party=own) == [
        ("authorize", 303),
        ("wallet_sign_in", 200),
        ("wallet_identity", 303),
        ("resume", 303),
        ("consent_review", 200),
        ("resume", 303),
    ]
    last = LoggedStep.objects.latest("id")
    token = len(fragment(answer.headers["Location"])["vp_token"])
    assert (last.method, last.answer) == ("POST", f"vp_token ({token}), state (11)")
    assert last.reference == answer.headers["X-Request-ID"][:8].upper()


def test_a_holders_own_pages_afterwards_are_not_stored(holder: Client, own: RelyingParty) -> None:
    page = holder.get(PATH, asked(own)).headers["Content-Location"]
    holder.get(decide(holder, page))
    before = steps()
    holder.get(f"/wallet/history/{page.split('/')[2]}/")
    holder.get("/wallet/history/")

    assert steps() == before


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"redirect_uri": "https://evil.example/"}, "redirect_uri must equal a registered redirect URI"),
        ({"redirect_uri": None}, "redirect_uri is missing"),
        ({"request_uri": "urn:ietf:params:oauth:request_uri:x"}, "request_uri is no handle of this client"),
        ({"request": "e30.e30.e30"}, "the request object is a token of another kind"),
    ],
)
def test_a_refusal_on_a_page_is_stored_for_the_party_that_the_request_names(
    client: Client, own: RelyingParty, changes: dict[str, Any], sentence: str
) -> None:
    client.get(PATH, asked(own, **changes))

    step = LoggedStep.objects.get()
    assert (step.relying_party, step.status, step.error, step.answer) == (own, 400, "", "")
    assert step.sentence.startswith(sentence)


def test_a_refusal_that_is_posted_is_stored(client: Client, own: RelyingParty) -> None:
    own.response_uris.create(uri="https://bank.example/nobody-listens")
    posted = {"response_mode": "direct_post", "response_uri": "https://bank.example/nobody-listens"}
    client.get(PATH, asked(own, redirect_uri=None, nonce="short", **posted))

    step = LoggedStep.objects.get()
    assert (step.status, step.error) == (400, "invalid_request")
    assert step.sentence == "nonce must have at least 16 characters"


def test_a_request_without_a_known_client_is_not_stored(client: Client, own: RelyingParty) -> None:
    for client_id in (None, "somebody", "\0", "é", "a" * 5000):
        assert client.get(PATH, asked(own, client_id=client_id)).status_code == 400
    assert steps() == []


def test_requests_of_registered_relying_parties_are_not_stored_and_cost_no_statement(
    holder: Client, acme_bank: RelyingParty, statements: Any
) -> None:
    for number in range(2):
        with statements() as found:
            holder.get(PATH, asked(acme_bank, nonce=f"{NONCE}-{number}"))
    holder.get(PATH, asked(acme_bank, redirect_uri="https://evil.example/"))

    assert not [statement for statement in found.texts if "sandbox_" in statement]
    assert not [
        statement for statement in found.texts if statement.startswith("SELECT") and "LIMIT 1" in statement
    ]
    assert steps() == []


def test_the_holder_for_tests_leaves_every_step_under_the_reference_of_the_call(own: RelyingParty) -> None:
    url = f"{settings.BASE_URL}{PATH}?{urlencode(asked(own, login_hint='ci@example.org'))}"
    called = Client().post("/sandbox/holder", {"authorize_url": url}, content_type="application/json")

    assert "vp_token" in called.json()["redirect_to"]
    found = LoggedStep.objects.all()
    assert {step.reference for step in found} == {called.headers["X-Request-ID"][:8].upper()}
    assert {step.interaction for step in found} == {Interaction.objects.get().id}
    assert found.latest("id").answer.startswith("vp_token (")


# --- Endpoints for machines ---------------------------------------------------------------------------------


def last() -> LoggedStep:
    return LoggedStep.objects.latest("id")


def test_a_token_request_is_stored_with_the_names_of_the_answer(client: Client, own: RelyingParty) -> None:
    secret = client_secrets.rotate(own, now=timezone.now()).text
    ask(client, **basic(own.client_id, secret))
    token = ask(client, {"client_id": own.client_id, "client_secret": secret}).json()["access_token"]

    assert steps(relying_party=own) == [("token", 200)] * 2
    assert last().answer.startswith(f"access_token ({len(token)}), token_type (6), expires_in (3)")


def test_failed_authentication_is_stored_for_the_party_that_was_named(
    client: Client, own: RelyingParty
) -> None:
    key = new_key()
    RelyingParty.objects.update(jwks={"keys": [{"kid": "one", **public_jwk(key)}]})
    ways: list[tuple[Any, dict[str, str]]] = [
        ({}, basic(own.client_id, "wrong")),
        ({"client_id": own.client_id, "client_secret": "wrong"}, {}),
        ({"client_id": own.client_id}, {}),
        (by_assertion(assertion(own.client_id, key, issuer="https://elsewhere.example")), {}),
    ]
    for form, headers in ways:
        ask(client, form, **headers)
        assert (last().relying_party, last().error) == (own, "invalid_client")
    assert steps() == [("token", 401)] * 4


def test_a_call_that_names_nobody_is_not_stored(client: Client, own: RelyingParty) -> None:
    for header in ("Basic x", "Bearer x", "Bearer a.b.c", "Bearer e30.e30.e30", "Other x", "Basic eDp5"):
        ask(client, Authorization=header)
    ask(client, "a=%zz")
    ask(client, {"client_id": "somebody"})
    client.post(PAR, b"x" * 300_000, content_type=FORM)
    client.get(f"{OUTCOME}?nonce={NONCE}")

    assert steps() == []


def test_a_pushed_request_and_its_refusal_are_stored(client: Client, own: RelyingParty) -> None:
    secret = client_secrets.rotate(own, now=timezone.now()).text
    for changes in ({}, {"scope": "urn:example:everything"}):
        body = urlencode(asked(own, **changes))
        client.post(PAR, body, content_type=FORM, headers=basic(own.client_id, secret))

    assert steps(relying_party=own) == [("push", 201), ("push", 400)]
    assert (last().error, last().sentence) == ("invalid_scope", "scope urn:example:everything is unknown")


def test_the_outcome_and_verifications_are_stored(client: Client, own: RelyingParty) -> None:
    bearer = {"Authorization": f"Bearer {access_token(own)}"}
    client.get(OUTCOME, {"nonce": NONCE}, headers=bearer)
    client.get(PATH, asked(own))
    client.get(OUTCOME, {"nonce": NONCE}, headers=bearer)
    client.post(VERIFY, "{}", content_type="application/json", headers=bearer)

    assert steps(relying_party=own) == [
        ("outcome", 404),
        ("authorize", 303),
        ("outcome", 200),
        ("verify", 400),
    ]
    assert [step.interaction is None for step in LoggedStep.objects.order_by("id")] == [
        True,
        False,
        False,
        True,
    ]
    assert last().error == "invalid_request"


def test_an_access_token_that_has_expired_is_stored_for_its_party(client: Client, own: RelyingParty) -> None:
    token = access_token(own)
    header, payload, signature = token.split(".")
    client.get(OUTCOME, headers={"Authorization": f"Bearer {header}.{payload}.{signature[::-1]}"})

    assert (last().relying_party, last().status, last().error) == (own, 401, "invalid_token")


def test_the_exchange_of_a_code_and_user_info_belong_to_the_interaction(holder: Client) -> None:
    party = registered_by(wire_format="openid", allowed_claims=ALL)
    party.redirect_uris.create(uri="https://shop.example/callback")
    shop = Shop(party, client_secrets.rotate(party, now=timezone.now()).text)
    code = shop.code(holder)
    shop.redeems(holder, code, code_verifier="wrong")
    user_info(holder, shop.redeems(holder, code).json()["access_token"])

    of_machines = ("token", "userinfo")
    assert steps(interaction=Interaction.objects.get().id, route__in=of_machines) == [
        ("token", 400),
        ("token", 200),
        ("userinfo", 200),
    ]
    assert LoggedStep.objects.get(answer__startswith="code (").route == "resume"
    assert "given_name (5)" in last().answer


# --- What is kept ------------------------------------------------------------------------------------------


def test_no_value_of_request_person_or_answer_is_stored(
    client: Client, alice: Wallet, own: RelyingParty, sign_in: SignIn
) -> None:
    changes = {
        "transaction_data": encoded(
            {
                "type": "urn:service:params:vc:transaction-data:session-data",
                "credential_ids": ["basic"],
                "payload": {"ip_address": "192.0.2.7"},
            }
        )
    }
    own.allowed_claims = ALL
    own.save()
    client.get(PATH, asked(own, login_hint=NORA, nonce=f"{NONCE}-of-nora"))
    client.get(PATH, asked(own, scope=NORA, nonce=f"{NONCE}-wrong"))
    sign_in(alice)
    page = client.get(PATH, asked(own, **changes)).headers["Location"]
    client.get(page)
    answer = fragment(client.get(decide(client, page)).headers["Location"])
    client.get(PATH, asked(own, login_hint="no address", nonce=f"{NONCE}-again"))

    table = stored()["sandbox_step"]
    assert "vp_token" in table
    private = [
        ALICE,
        NORA,
        NONCE,
        answer["state"],
        answer["vp_token"][:40],
        "Archer",
        "192.0.2.7",
        "1990-04-01",
    ]
    assert not [each for each in private if each.lower() in table]


def test_a_step_is_deleted_after_a_day(client: Client, own: RelyingParty) -> None:
    for ago in (timedelta(hours=23), timedelta(hours=25)):
        client.get(PATH, asked(own, nonce="short"))
        LoggedStep.objects.filter(id=LoggedStep.objects.latest("id").id).update(at=timezone.now() - ago)

    call_command("clear_expired")

    assert LoggedStep.objects.get().at > timezone.now() - recording.KEPT


def test_only_the_newest_steps_of_a_party_are_kept(
    client: Client, own: RelyingParty, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "MOST", 3)
    other = registered_by(name="Other")
    client.get(PATH, asked(other, nonce="short"))
    for _ in range(5):
        client.get(PATH, asked(own, nonce="short"))

    assert (LoggedStep.objects.filter(relying_party=own).count(), LoggedStep.objects.count()) == (3, 4)
    assert recording.MOST * 5 < 10_000


def test_the_steps_go_with_the_registration(client: Client, own: RelyingParty) -> None:
    client.get(PATH, asked(own, nonce="short"))
    own.delete()
    assert steps() == []


def test_an_error_in_recording_is_logged_and_the_answer_stays(
    client: Client, own: RelyingParty, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(step: LoggedStep) -> None:
        raise DatabaseError(step.sentence)

    monkeypatch.setattr(recording, "store_step", fail)
    response = client.get(PATH, asked(own, nonce="short"))

    assert "error=invalid_request" in response.headers["Location"]
    log = capsys.readouterr().err
    assert "step_not_recorded" in log
    assert "16 characters" not in log


def test_while_the_database_is_away_recording_does_not_ask_it(
    client: Client, own: RelyingParty, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.raise_request_exception = False
    asked_for = []

    def away(execute: Any, sql: str, *rest: Any) -> Any:
        from django.db import OperationalError

        asked_for.append(sql)
        raise OperationalError("away")

    with connection.execute_wrapper(away):
        response = client.get(PATH, asked(own))

    assert response.status_code == 503
    assert len(asked_for) == 1
    assert steps() == []
