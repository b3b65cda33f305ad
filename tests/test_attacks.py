"""Attacks from outside or with an operator's account. Each test is one attempt, which fails."""

import hashlib
import logging
import smtplib
import sys
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.core import mail
from django.core.mail.backends.base import BaseEmailBackend
from django.db import DatabaseError, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from consent.models import Consent
from presentation.dcql.queries import BASIC
from presentation.models import Interaction, RelyingParty
from presentation.parameters import Parameters
from presentation.relying_parties import registration
from presentation.requests import interactions
from presentation.requests.wire_formats.registered import wire_format_of
from presentation.scopes.records import ONLY_BASIC
from tests.log_form import log_form
from tests.people import ALICE, NORA, register
from tests.presentation.clients import ask as post_as_client
from tests.presentation.clients import assertion, by_assertion, with_key
from tests.presentation.dcql.queries import query, with_query
from tests.presentation.requests.authorization_requests import PATH, asked, encoded, fragment, session_data
from tests.presentation.requests.deciding import ask, decide
from tests.presentation.requests.pushing import send
from tests.presentation.requests.signed_requests import signed
from wallet.identity.attempts import ATTEMPTS
from wallet.models import Credential, IdentityVerification, RedirectTask, Wallet
from wallet.sign_in import known_browsers

pytestmark = pytest.mark.slow  # attacks one part of the service after the other

SignIn = Callable[..., Any]


def operator(group: str) -> Client:
    """A signed-in operator of one group."""
    user = User.objects.create_user(f"operator of {group}", is_staff=True)
    user.groups.add(Group.objects.get(name=group))
    client = Client()
    client.force_login(user)
    return client


# --- Unlimited rows -------------------------------------------------------------------------------------


def test_unauthenticated_requests_cannot_write_an_unlimited_number_of_rows(
    client: Client, acme_bank: RelyingParty
) -> None:
    most = interactions.UNAUTHENTICATED.most
    for _ in range(most):
        interactions.UNAUTHENTICATED.take("127.0.0.1", now=timezone.now())

    response = Client().get(PATH, asked(acme_bank), headers={"X-Forwarded-For": "192.0.2.1"})

    assert response.status_code == 429
    assert not Interaction.objects.exists()
    assert not RedirectTask.objects.exists()


def test_people_whose_address_a_proxy_does_not_name_are_not_limited_as_if_they_were_one(
    acme_bank: RelyingParty, settings: Any
) -> None:
    settings.TRUSTED_PROXY_COUNT = 1
    for subject in ("", "unknown", "None", "127.0.0.1"):  # the last is the proxy
        for _ in range(interactions.UNAUTHENTICATED.most):
            interactions.UNAUTHENTICATED.take(subject, now=timezone.now())

    for forwarded in ("unknown", "_hidden", "", "192.0.2.1,"):
        response = Client().get(PATH, asked(acme_bank), headers={"X-Forwarded-For": forwarded})
        assert response.status_code == 303


def test_a_signed_in_holder_is_not_limited_by_others_at_the_same_client_address(
    holder: Client, acme_bank: RelyingParty
) -> None:
    for _ in range(interactions.UNAUTHENTICATED.most):
        interactions.UNAUTHENTICATED.take("127.0.0.1", now=timezone.now())

    assert ask(holder, acme_bank).startswith("/consent/")


def test_a_known_browser_is_not_limited_by_others_at_the_same_client_address(
    client: Client, alice: Wallet, acme_bank: RelyingParty
) -> None:
    now = timezone.now()
    digest = hashlib.sha256(("b" * 43).encode()).hexdigest()
    known_browsers.remember(digest, alice.email, now=now)
    for _ in range(interactions.UNAUTHENTICATED.most):
        interactions.UNAUTHENTICATED.take("127.0.0.1", now=now)
    client.cookies[settings.BROWSER_COOKIE_NAME] = "b" * 43

    assert ask(client, acme_bank).endswith("/sign-in/")
    refused = client.get(PATH, asked(acme_bank, login_hint="bob@example.org"))
    assert refused.status_code == 429


@pytest.mark.postgresql  # on SQLite the plain way has a statement for each table
def test_the_limit_of_requests_keeps_authorizing_within_its_statements(
    client: Client, acme_bank: RelyingParty, statements: Any
) -> None:
    with statements() as seen:
        ask(client, acme_bank)

    assert len(seen.texts) <= 5, seen.texts


@pytest.mark.usefixtures("windows_just_begun")
def test_identity_checks_cannot_be_started_and_cancelled_without_limit(
    client: Client, acme_bank: RelyingParty, sign_in: SignIn
) -> None:
    sign_in(Wallet.objects.create(email=NORA, created_at=timezone.now()))
    interaction_page = ask(client, acme_bank, login_hint=NORA)

    responses = []
    for _ in range(ATTEMPTS.most + 3):
        responses.append(client.post(f"{interaction_page}start/"))
        client.post(f"{interaction_page}cancel/")

    assert responses[-1].status_code == 429
    assert "Too many attempts" in responses[-1].content.decode()
    assert IdentityVerification.objects.count() == ATTEMPTS.most


# --- Guessing ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lookup", ["startswith=a", "startswith=b", "gt=a", "regex=.", "=alice@example.org"])
@pytest.mark.parametrize(
    ("model", "field"), [("wallet_wallet", "email"), ("presentation_interaction", "parameters__login_hint")]
)
def test_an_operator_cannot_search_for_e_mail_addresses_by_filters_in_the_address(
    client: Client, alice: Wallet, acme_bank: RelyingParty, model: str, field: str, lookup: str
) -> None:
    ask(client, acme_bank)
    query = f"{field}{lookup}" if lookup.startswith("=") else f"{field}__{lookup}"

    response = operator("Audit (read only)").get(f"{reverse(f'admin:{model}_changelist')}?{query}")

    assert response.status_code == 400


@pytest.mark.parametrize(
    "filters", ["state__exact=active", "state__exact=suspended", "q=alice%40example.org"]
)
def test_the_filters_on_the_page_still_work(alice: Wallet, filters: str) -> None:
    response = operator("Audit (read only)").get(f"{reverse('admin:wallet_wallet_changelist')}?{filters}")

    assert response.status_code == 200
    assert (str(alice.id) in response.content.decode()) == ("suspended" not in filters)


def test_interactions_can_still_be_filtered_by_time(client: Client, acme_bank: RelyingParty) -> None:
    ask(client, acme_bank)
    address = reverse("admin:presentation_interaction_changelist")

    response = operator("Audit (read only)").get(
        f"{address}?expires_at__gte=2020-01-01+00%3A00%3A00%2B00%3A00"
    )

    assert str(Interaction.objects.get().id) in response.content.decode()


# --- Changes in the meantime ------------------------------------------------------------------------------


def test_a_form_sent_while_an_application_is_suspended_does_not_reinstate_it(acme_bank: RelyingParty) -> None:
    from django.contrib.admin import site

    read_before = RelyingParty.objects.get(pk=acme_bank.pk)
    registration.suspend(acme_bank, "complaints")

    read_before.name = "Acme Bank of Example"
    site.get_model_admin(RelyingParty).save_model(None, read_before, None, change=True)

    saved = RelyingParty.objects.get(pk=acme_bank.pk)
    assert (saved.state, saved.suspension_reason) == ("suspended", "complaints")
    assert saved.name == "Acme Bank of Example"


def test_no_form_of_the_admin_changes_a_key(signing_key: Any, admin_client: Client) -> None:
    """Such a form, sent after the key was withdrawn, would restore it."""
    address = reverse("admin:keys_signingkey_change", args=[signing_key.pk])

    assert admin_client.get(address).status_code == 200
    assert admin_client.post(address, {"state": "active"}).status_code == 403


@pytest.mark.usefixtures("signing_key")
def test_a_consent_does_not_cover_what_a_later_identity_check_found(
    holder: Client, acme_bank: RelyingParty
) -> None:
    interaction_page = decide(holder, ask(holder, acme_bank))
    Credential.objects.update(issued_at=timezone.now())

    answer = fragment(holder.get(interaction_page).headers["Location"])

    assert answer["error"] == "access_denied"


@pytest.mark.usefixtures("signing_key")
def test_a_consent_does_not_cover_claims_that_were_not_shown(holder: Client, acme_bank: RelyingParty) -> None:
    interaction_page = decide(holder, ask(holder, acme_bank))
    Consent.objects.update(claims=[["given_name"], ["family_name"]])  # as if the scope now had more claims

    assert fragment(holder.get(interaction_page).headers["Location"])["error"] == "access_denied"


@pytest.mark.parametrize("change", ["suspended", "address given up"])
def test_nobody_is_redirected_to_an_application_that_was_suspended_in_the_meantime(
    client: Client, acme_bank: RelyingParty, change: str
) -> None:
    ask(client, acme_bank)
    Interaction.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    if change == "suspended":
        registration.suspend(acme_bank, "phishing")
    else:
        acme_bank.redirect_uris.all().delete()

    for browser in (client, Client()):
        response = browser.get(interactions.path_of(Interaction.objects.get()))
        assert response.status_code == 410
        assert "bank.example" not in response.content.decode()


# --- Personal data in logs ----------------------------------------------------------


class RefusingBackend(BaseEmailBackend):
    """A mail server that refuses all recipients and names them in its answer."""

    def send_messages(self, messages: Any) -> int:
        refused = {to: (550, f"<{to}>: no such user".encode()) for m in messages for to in m.recipients()}
        raise smtplib.SMTPRecipientsRefused(refused)


@pytest.fixture(params=[True, False], ids=["JSON", "text"])
def written(
    request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> Iterator[Callable[[], str]]:
    """A function that returns what the log says since the last call, in each of its forms."""
    with log_form(as_json=request.param):
        yield lambda: capsys.readouterr().err


def test_a_recipient_that_the_mail_server_names_in_its_refusal_is_not_logged(
    client: Client, acme_bank: RelyingParty, settings: Any, written: Callable[[], str]
) -> None:
    settings.MAIL_BACKEND = f"{__name__}.RefusingBackend"
    sign_in_page = ask(client, acme_bank)

    assert client.post(sign_in_page).status_code == 303

    log = written()
    assert "550 for the recipient" in log
    assert ALICE not in log


def test_a_row_that_the_database_refuses_is_not_logged(alice: Wallet, written: Callable[[], str]) -> None:
    django_log = logging.getLogger("django.request")
    wrong = [{"email": ALICE}, {"email": "x@example.org", "state": "Archer, Alice"[:9]}]
    for values in wrong:
        try:
            with transaction.atomic():
                Wallet.objects.create(created_at=timezone.now(), **values)
        except DatabaseError:
            django_log.error("Internal Server Error: %s", "/somewhere/", exc_info=sys.exc_info())

    log = written()
    assert "IntegrityError" in log
    assert "/somewhere/" in log
    for private in (ALICE, "x@example.org", "Archer"):
        assert private not in log


def test_a_wrong_host_is_refused_without_filling_the_log(
    client: Client, db: None, capfd: pytest.CaptureFixture[str]
) -> None:
    response = client.get("/", headers={"Host": "evil.example"})

    assert response.status_code == 400
    assert "evil.example" not in response.content.decode()
    assert "evil.example" not in capfd.readouterr().err


def test_the_repr_of_a_request_contains_none_of_its_values(acme_bank: RelyingParty) -> None:
    parameters = Parameters(asked(acme_bank, transaction_data=encoded(session_data())))
    request = wire_format_of(acme_bank).parse_request(parameters, acme_bank, ONLY_BASIC)

    printed = repr([parameters, request, request.transaction_data])

    for private in (ALICE, parameters.values["nonce"], "192.0.2.7"):
        assert private not in printed


# --- Addresses --------------------------------------------------------------------------------------------


def test_an_e_mail_names_the_service_and_not_the_host_of_the_request(
    client: Client, acme_bank: RelyingParty, settings: Any
) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    evil = {"Host": "evil.example", "X-Forwarded-Host": "evil.example"}
    page = client.get(PATH, asked(acme_bank), headers=evil).headers["Location"]
    client.post(page, headers=evil)

    assert "evil.example" not in str(mail.outbox[0].message())


def test_a_service_started_with_an_empty_environment_file_is_no_sandbox() -> None:
    units = list((Path(__file__).parent.parent / "deploy" / "systemd").glob("*.service"))

    assert len(units) == 3
    for unit in units:
        before, _after = unit.read_text().split("\nEnvironmentFile=")
        assert "\nEnvironment=ENVIRONMENT=production" in before


# --- Large and disguised input ----------------------------------------------------------------------------


# A billionth is how inexact arithmetic with floats may be; ten times that is no accident.
@pytest.mark.parametrize("amount", ["12.00000001", "0.10000001", "0.1" + "0" * 6 + "1" + "0" * 40])
def test_more_decimal_places_than_are_shown_are_refused_and_not_rounded(
    client: Client, acme_bank: RelyingParty, amount: str
) -> None:
    text = (
        '{"type": "urn:service:params:vc:transaction-data:payment-mandate:v1", "credential_ids": ["basic"],'
        ' "payload": {"payment_instrument": {"type": "card", "id": "1"}, "payee": {"name": "Shop"},'
        f' "prompt_summary": "Wine", "currency": "EUR", "amount": {amount}}}}}'
    )
    value = urlsafe_b64encode(text.encode()).rstrip(b"=").decode()

    answer = fragment(client.get(PATH, asked(acme_bank, transaction_data=value)).headers["Location"])

    assert answer["error"] == "invalid_transaction_data"
    assert "decimal places" in answer["error_description"]


@pytest.mark.parametrize("charset", ["base64", "utf-16", "rot13", "nonsense"])
def test_a_body_with_another_content_type_is_refused_without_an_error(
    client: Client, db: None, charset: str
) -> None:
    body = b"grant_type=client_credentials"
    response = client.generic(
        "POST", "/oauth/v2/token", body, f"application/x-www-form-urlencoded; charset={charset}"
    )

    assert (response.status_code, response.json()["error"]) == (401, "invalid_client")


@pytest.mark.parametrize(
    "picture",
    [
        b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
        b"GIF89a<script>alert(1)</script>",
        b"<!doctype html><script>alert(1)</script>",
        b" \x89PNG\r\n\x1a\n",
    ],
)
def test_a_logo_that_could_be_a_page_or_a_script_is_refused(acme_bank: RelyingParty, picture: bytes) -> None:
    upload = BytesIO(picture)
    upload.name = "logo.png"
    address = reverse("admin:presentation_relyingparty_change", args=[acme_bank.pk])
    uri = acme_bank.redirect_uris.first()
    form = {
        "name": "Acme Bank",
        "allowed_scopes": [BASIC],
        "wire_format": "string",
        "logo_file": upload,
        "redirect_uris-TOTAL_FORMS": "1",
        "redirect_uris-INITIAL_FORMS": "1",
        "response_uris-TOTAL_FORMS": "0",
        "response_uris-INITIAL_FORMS": "0",
        "certified_client_ids-TOTAL_FORMS": "0",
        "certified_client_ids-INITIAL_FORMS": "0",
        "redirect_uris-0-id": str(uri.pk),
        "redirect_uris-0-relying_party": str(acme_bank.pk),
        "redirect_uris-0-uri": uri.uri,
    }

    response = operator("Relying parties").post(address, form)

    assert response.status_code == 200
    assert "PNG, JPEG or WebP" in response.content.decode()
    assert bytes(RelyingParty.objects.get(pk=acme_bank.pk).logo) == b""


def test_a_picture_that_contains_a_script_is_served_only_as_a_picture(
    client: Client, acme_bank: RelyingParty
) -> None:
    header = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR" + b"\0\0\0\x20" * 2
    RelyingParty.objects.update(logo=header + b"<script>alert(1)</script>")

    response = client.get(reverse("relying_party_logo", args=[acme_bank.client_id]))

    assert response.headers["Content-Type"] == "image/png"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert "script-src 'self'" in response.headers["Content-Security-Policy"]


# --- Requests meant for another party (RFC 9101 §10, RFC 9126 §7, OpenID4VP 1.0 §15.4.1) ----------


def test_a_signed_request_does_not_authenticate_a_client(client: Client, db: None, settings: Any) -> None:
    bank = with_key()
    seen_in_a_browser = signed(bank, settings.BASE_URL)

    token = post_as_client(client, by_assertion(seen_in_a_browser))
    pushed = send(client, asked(bank[0]) | by_assertion(seen_in_a_browser))

    assert token.json()["error"] == pushed.json()["error"] == "invalid_client"


def test_the_reference_of_a_pushed_request_does_not_allow_another_redirect_uri(
    client: Client, signing_key: Any, settings: Any
) -> None:
    bank = with_key()
    evil = register("Evil", "https://evil.example/callback", "https://bank.example/callback")
    proof = by_assertion(assertion(bank[0].client_id, bank[1], issuer=settings.BASE_URL))
    handle = send(client, asked(bank[0]) | proof).json()["request_uri"]
    beside = {"request_uri": handle, "redirect_uri": "https://evil.example/callback"}

    as_evil = client.get(PATH, {"client_id": evil.client_id} | beside)
    client.get(PATH, {"client_id": bank[0].client_id} | beside)

    assert as_evil.status_code == 400
    assert Interaction.objects.get().redirect_uri == "https://bank.example/callback"


def test_a_query_does_not_reveal_whether_a_person_has_a_value(
    holder: Client, signing_key: Any, acme_bank: RelyingParty
) -> None:
    guesses = [with_query(query({"path": ["given_name"], "values": [name]})) for name in ("Alice", "Bob")]

    right = holder.get(decide(holder, ask(holder, acme_bank, **guesses[0]), "decline"))
    wrong = holder.get(holder.get(ask(holder, acme_bank, **guesses[1])).context["leave"])

    assert right.status_code == wrong.status_code
    assert right.headers["Location"] == wrong.headers["Location"]


def test_a_query_cannot_be_so_large_that_it_blocks_other_requests(
    holder: Client, signing_key: Any, acme_bank: RelyingParty
) -> None:
    deep = '{"credentials":' + "[" * 1000 + "]" * 1000 + "}"
    wide = with_query(*[query({"path": ["given_name"]}, id=f"q{number}") for number in range(11)])

    for changes in ({"scope": None, "dcql_query": deep}, wide):
        answer = fragment(holder.get(PATH, asked(acme_bank, **changes)).headers["Location"])
        assert answer["error"] == "invalid_request"
