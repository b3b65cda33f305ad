"""E-mail addresses: only those are accepted that reach the mail server exactly as they were entered."""

import re
from contextlib import suppress
from typing import Any

import pytest
from django.core import mail
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.core.validators import validate_email
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from infra.email_addresses import EmailAddressError, is_accepted, parse
from infra.mail.sending import new_backend
from presentation.models import RelyingParty
from tests.people import register
from tests.wallet.browser_redirect_tasks import make_redirect_task
from tests.wallet.mail_server import MailServer, running
from wallet.emails import holder_emails
from wallet.models import RedirectTask, Wallet
from wallet.sign_in.forms import EmailForm

STOLEN = "=?utf-8?q?mallory=40evil.example=28?=!@big-bank.com"
REFUSED = [
    STOLEN,
    "=?utf-8?q?a=0ab?=@x.example",
    "=?utf-8?q?a=ffb?=@x.example",
    "=?utf-8?b?####?=@x.example",
    "a=?utf-8?q?b?=@x.example",
    "a.=?utf-8?q?b?=@x.example",
    "=?@x.example",
    '"quoted"@x.example',
    '"a@evil.example"@x.example',
    "a(comment)@x.example",
    "a@x.example(comment)",
    "a@(comment)x.example",
    "Nora <nora@x.example>",
    "<nora@x.example>",
    "a@x.example, b@x.example",
    "nörа@x.example",
    "a@bücher.example",
    "a@[127.0.0.1]",
    "a@[IPv6:::1]",
    "a@127.0.0.1",
    "a@10.44",
    "a@example",
    "a@x.example.",
    "a@-x.example",
    "a@x_y.example",
    f"a@{'x' * 64}.example",
    f"{'a' * 65}@x.example",
    f"a@{'x.' * 130}example",
    ".a@x.example",
    "a.@x.example",
    "a..b@x.example",
    "a b@x.example",
    " a@x.example",
    "a@x.example\n",
    "a\n@x.example",
    "a\0@x.example",
    "a@b@x.example",
    "@x.example",
    "a@",
    "a",
    "",
]
ACCEPTED = [
    "nora@example.org",
    "nora.new+tag@mail.example.org",
    "o'neill@example.org",
    "a!#$%&'*+/=^_`{|}~-?@x.example",
    "?=a@x.example",
    "a@xn--bcher-kva.example",
    "a@xn--p1ai.xn--p1ai",
    "a@1.2.example",
    "a@localhost",
    f"{'a' * 64}@{'x' * 63}.{'y' * 63}.{'z' * 50}.exam",
]


@pytest.mark.parametrize("address", ACCEPTED)
def test_an_ordinary_address_is_accepted_in_lower_case(address: str) -> None:
    assert parse(address.upper()) == address
    assert is_accepted(address)


@pytest.mark.parametrize("text", REFUSED)
def test_what_the_mailer_would_change_or_no_mail_server_takes_is_refused(text: str) -> None:
    with pytest.raises(EmailAddressError):
        parse(text)
    assert not is_accepted(text)


def test_a_domain_without_a_dot_is_accepted_in_a_sandbox_only(db: None, settings: Any) -> None:
    assert settings.LOCALHOST_EMAIL_ADDRESSES, "the tests run as a sandbox"
    assert EmailForm({"email": "root@localhost"}).is_valid()
    settings.LOCALHOST_EMAIL_ADDRESSES = False
    assert not EmailForm({"email": "root@localhost"}).is_valid()
    assert not EmailForm({"email": "ROOT@LOCALHOST"}).is_valid()
    assert EmailForm({"email": "root@localhost.example"}).is_valid()


def test_only_lower_case_is_as_wallets_keep_it() -> None:
    assert not is_accepted("Nora@example.org")


# --- On the wire ------------------------------------------------------------------------------------------

_SMALL = st.text('abz09.=_?@ "()<>\\,:;-!#é\u202e\n\0', max_size=12)
_CHARSETS = st.sampled_from(["utf-8", "UTF-8", "iso-8859-1", "us-ascii", "utf-7", "x", "", "utf-8*en"])
_ENCODED_WORDS = st.builds(
    "=?{}?{}?{}?=".format,
    _CHARSETS,
    st.sampled_from("qQbBx"),
    st.one_of(
        st.from_regex(r"(=[0-9A-Fa-f]{2}|[a-z_.@=!?#]){0,12}", fullmatch=True),
        st.from_regex(r"[A-Za-z0-9+/]{0,16}={0,2}", fullmatch=True),
        _SMALL,
    ),
)
_DOT_ATOMS = st.from_regex(
    r"[a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]{1,12}(\.[a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]{1,12}){0,3}", fullmatch=True
)
_LOCAL_PARTS = st.one_of(
    _DOT_ATOMS,
    st.lists(st.one_of(_ENCODED_WORDS, _DOT_ATOMS, st.sampled_from([".", " ", "!"])), max_size=4).map(
        "".join
    ),
    _SMALL.map('"{}"'.format),  # quoted strings
    st.builds("{}({}){}".format, _DOT_ATOMS, _SMALL, _SMALL),  # comments
    st.text(max_size=20),  # SMTPUTF8
)
_DOMAINS = st.one_of(
    st.sampled_from(["x.example", "big-bank.com", "localhost", "bücher.example", "straße.example"]),
    st.from_regex(r"([a-z0-9-]{1,20}\.){1,3}[a-z0-9-]{1,10}", fullmatch=True),
    st.from_regex(r"xn--[a-z0-9-]{1,20}\.example", fullmatch=True),
    st.builds("{}({})".format, st.just("x.example"), _SMALL),
    st.from_regex(r"\[[0-9a-fA-F:.]{1,15}\]", fullmatch=True),
    st.text(max_size=20),  # IDN
)
ADDRESSES = st.one_of(st.builds("{}@{}".format, _LOCAL_PARTS, _DOMAINS), st.emails(), st.text(max_size=40))


@pytest.fixture
def mail_server(settings: Any) -> Any:
    with running(settings) as mail_server:
        yield mail_server


def sent(address: str, mail_server: MailServer) -> tuple[list[str], str]:
    """The recipients in the envelope and the message of an e-mail to this address."""
    new_backend().send_messages([mail.EmailMessage("Subject", "Text", to=[address])])
    content = mail_server.envelopes[-1].content
    assert isinstance(content, bytes)
    header = re.search(rb"^To:((?:.*\r\n)(?:[ \t].*\r\n)*)", content, re.MULTILINE)
    assert header is not None
    return mail_server.envelopes[-1].rcpt_tos, header.group(1).decode("ascii").strip()


@settings(
    max_examples=3 * settings.default.max_examples,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(text=ADDRESSES)
def test_every_accepted_address_is_on_the_wire_as_it_was_entered(text: str, mail_server: MailServer) -> None:
    try:
        address = parse(text)
    except EmailAddressError:
        return
    assert address == text.lower()
    assert sent(address, mail_server) == ([address], address)


@pytest.mark.parametrize("address", ACCEPTED)
def test_each_kind_of_accepted_address_is_on_the_wire_as_it_was_entered(
    address: str, mail_server: MailServer
) -> None:
    assert sent(address, mail_server) == ([address], address)


def test_the_mailer_would_not_send_an_encoded_word_to_that_address(mail_server: MailServer) -> None:
    """The reason for the rule: Django 5.2 would send it to another address, and Django 6.1 fails."""
    validate_email(STOLEN)
    with suppress(ValueError):
        sent(STOLEN, mail_server)
    assert [envelope for envelope in mail_server.envelopes if envelope.rcpt_tos == [STOLEN]] == []


# --- Every input of an address -----------------------------------------------------------------------------

NOT_ACCEPTED = pytest.mark.parametrize("address", REFUSED[:14])


@NOT_ACCEPTED
def test_the_sign_in_form_refuses_it_and_sends_nothing(address: str, client: Client, db: None) -> None:
    response = client.post(reverse("wallet_front_door"), {"email": address})
    assert response.status_code == 422
    assert "like name@example.com" in response.content.decode()
    assert mail.outbox == []
    assert not RedirectTask.objects.exists()


@NOT_ACCEPTED
def test_a_request_with_it_as_login_hint_goes_home_with_an_error(
    address: str, client: Client, acme_bank: RelyingParty
) -> None:
    query = {
        "client_id": acme_bank.client_id,
        "redirect_uri": "https://bank.example/callback",
        "response_type": "vp_token",
        "scope": acme_bank.allowed_scopes[0],
        "nonce": "n" * 20,
        "login_hint": address,
    }
    response = client.get(reverse("authorize"), query)
    assert response.headers["Location"].startswith("https://bank.example/callback#error=invalid_request")
    assert not RedirectTask.objects.exists()


@NOT_ACCEPTED
def test_the_developers_sign_in_refuses_it_and_sends_nothing(
    address: str, db: None, settings: Any, client: Client
) -> None:
    settings.DEVELOPER_EMAIL_BACKEND = settings.MAIL_BACKEND
    assert client.post(reverse("self_service"), {"email": address}).status_code == 422
    assert mail.outbox == []


@NOT_ACCEPTED
def test_a_relying_partys_contact_is_no_such_address(address: str, db: None) -> None:
    party = RelyingParty(name="Bank", allowed_scopes=register("Shop").allowed_scopes, contact=address)
    with pytest.raises(ValidationError) as refused:
        party.full_clean()
    assert list(refused.value.message_dict) == ["contact"]
    with pytest.raises(CommandError, match="--contact: "):
        call_command(
            "register_relying_party",
            "--name=Bank",
            "--redirect-uri=https://bank.example/cb",
            f"--scope={party.allowed_scopes[0]}",
            f"--contact={address}",
        )


def test_a_contact_may_be_written_in_capitals(db: None) -> None:
    RelyingParty(
        name="Bank", allowed_scopes=register("Shop").allowed_scopes, contact="Desk@Bank.example"
    ).full_clean()


@settings(max_examples=2 * settings.default.max_examples)
@given(text=ADDRESSES)
def test_the_form_takes_what_the_rule_takes(text: str) -> None:
    form = EmailForm({"email": text})
    if form.is_valid():
        assert form.cleaned_data["email"] == parse(text.strip())
    else:
        assert form.errors["email"]


def test_no_redirect_task_is_opened_for_it(client: Client, db: None) -> None:
    with pytest.raises(EmailAddressError):
        make_redirect_task(client, now=timezone.now(), email=STOLEN)


def test_no_email_goes_to_a_stored_wallet_with_it(db: None) -> None:
    wallet = Wallet.objects.create(email=STOLEN, created_at=timezone.now())
    with pytest.raises(EmailAddressError):
        holder_emails.send_notice(wallet.email, "approved")
    assert mail.outbox == []
