"""`manage.py register_relying_party`, as scripts use it."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from keys.rotation.key_events import shell_user
from presentation.dcql.queries import BASIC
from presentation.models import RedirectURI, RelyingParty, RelyingPartyEvent
from presentation.relying_parties.as_json import listed
from presentation.transaction_data.types import TYPES
from tests.forgery import new_key, public_jwk

pytestmark = pytest.mark.django_db
SESSION = "urn:service:params:vc:transaction-data:session-data"
GOOD = ["--name=Acme Bank", "--redirect-uri=https://bank.example/callback", f"--scope={BASIC}"]


def run(*arguments: str) -> dict[str, Any]:
    printed = StringIO()
    call_command("register_relying_party", *arguments, stdout=printed)
    answer: dict[str, Any] = json.loads(printed.getvalue())
    return answer


def test_it_registers_and_prints_what_a_developer_needs(settings: Any) -> None:
    answer = run(
        *GOOD,
        "--redirect-uri=com.example.bank:/callback",
        "--response-uri=https://bank.example/answers",
        f"--transaction-data-type={SESSION}",
        "--wire-format=openid4vp-1.0",
        "--purpose=to open your account",
        "--privacy-policy-url=https://bank.example/privacy",
        "--initiate-login-uri=https://bank.example/start",
    )

    party = RelyingParty.objects.get()
    assert answer == {
        **listed([party.client_id])[0],
        "claims": ["age_equal_or_over.18", "family_name", "given_name"],
        "service": {
            "authorization_endpoint": f"{settings.BASE_URL}/verifiable-credentials/v1/presentation/authorize",
            "pushed_authorization_request_endpoint": (
                f"{settings.BASE_URL}/verifiable-credentials/v1/presentation/par"
            ),
            "token_endpoint": f"{settings.BASE_URL}/oauth/v2/token",
            "discovery": f"{settings.BASE_URL}/.well-known/openid-configuration",
            "jwks_uri": f"{settings.BASE_URL}/openid-connect/jwks",
            "issuer": settings.BASE_URL,
        },
    }
    assert answer["redirect_uris"] == ["https://bank.example/callback", "com.example.bank:/callback"]
    assert answer["response_uris"] == ["https://bank.example/answers"]
    assert (answer["scopes"], answer["transaction_data_types"]) == ([BASIC], [SESSION])
    assert answer["wire_format"] == "openid4vp-1.0"
    assert party.purpose == "to open your account"
    assert party.privacy_policy_url == "https://bank.example/privacy"
    assert party.initiate_login_uri == "https://bank.example/start"


def test_a_duplicate_is_refused_and_changes_nothing() -> None:
    run(*GOOD)

    with pytest.raises(CommandError, match="A relying party with this name is registered already"):
        run(*GOOD, "--redirect-uri=https://bank.example/other")

    assert RelyingParty.objects.count() == RedirectURI.objects.count() == 1
    assert RelyingPartyEvent.objects.count() == 1


WRONG = {
    "a wrong redirect URI": (
        ["--redirect-uri=http://bank.example/"],
        "--redirect-uri: http://bank.example/: Use https",
    ),
    "an unknown scope": (["--scope=openid"], "--scope: Unknown: openid"),
    "an address of keys by http": (["--jwks-uri=http://a.example/"], "--jwks-uri: Enter an address that"),
    "keys that are not there": (["--jwks=/nowhere"], "--jwks: /nowhere cannot be read"),
    "keys that are none": ([f"--jwks={__file__}"], "cannot be read as JSON"),
}


@pytest.mark.parametrize(("arguments", "says"), WRONG.values(), ids=WRONG.keys())
def test_every_mistake_names_its_option_and_changes_nothing(arguments: list[str], says: str) -> None:
    with pytest.raises(CommandError) as raised:
        run(*GOOD, *arguments)

    assert says in str(raised.value)
    assert str(raised.value).startswith("Nothing was registered.")
    assert not RelyingParty.objects.exists()
    assert not RedirectURI.objects.exists()


@pytest.mark.parametrize("missing", ["--name", "--redirect-uri", "--scope"])
def test_required_options_are_required(missing: str) -> None:
    with pytest.raises(CommandError, match=missing):
        run(*[argument for argument in GOOD if not argument.startswith(missing)])


@pytest.mark.parametrize(
    ("options", "recognises"),
    [
        (["--wire-format=openid", "--sub=same"], True),
        (["--wire-format=openid", "--sub=another"], False),
        (["--wire-format=openid", "--may-recognise"], True),
        (["--may-recognise"], True),
        (["--wire-format=openid4vp-1.0"], False),
    ],
)
def test_sub_and_may_recognise_say_whether_people_are_recognised(
    options: list[str], recognises: bool
) -> None:
    answer = run(*GOOD, *options)

    assert answer["may_recognise"] is RelyingParty.objects.get().may_recognise is recognises


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--wire-format=openid"], "OpenID Connect needs this choice"),
        (["--wire-format=openid"], "--sub another: another number each time. Nobody can recognise"),
        (["--wire-format=openid", "--sub=another", "--may-recognise"], "contradicts --may-recognise"),
        (["--wire-format=openid", "--sub=some"], "--sub: invalid choice"),
        (["--sub=same"], "for other formats use --may-recognise"),
    ],
)
def test_openid_connect_must_be_told_what_sub_is(options: list[str], says: str) -> None:
    with pytest.raises(CommandError) as raised:
        run(*GOOD, *options)

    assert says in str(raised.value)
    assert not RelyingParty.objects.exists()


def test_an_unknown_wire_format_is_refused() -> None:
    with pytest.raises(CommandError, match="--wire-format"):
        run(*GOOD, "--wire-format=x")


def test_it_registers_what_its_server_may_do_and_proves_itself_with(tmp_path: Path) -> None:
    jwks = {"keys": [{"kid": "one", **public_jwk(new_key())}]}
    file = tmp_path / "jwks.json"
    file.write_text(json.dumps(jwks))

    answer = run(*GOOD, "--grant=presentation:verify", "--grant=presentation:read", f"--jwks={file}")

    party = RelyingParty.objects.get()
    assert answer["grants"] == party.grants == ["presentation:verify", "presentation:read"]
    assert party.jwks == jwks
    assert "keys" not in answer


def test_it_registers_how_requests_must_come() -> None:
    answer = run(
        *GOOD,
        "--jwks-uri=https://bank.example/jwks",
        "--requires-pushed-requests",
        "--requires-signed-requests",
        "--may-omit-exp",
        "--request-uri-prefix=https://bank.example/requests/",
    )

    party = RelyingParty.objects.get()
    assert answer["requires_pushed_requests"] is party.requires_pushed_requests is True
    assert answer["requires_signed_requests"] is party.requires_signed_requests is True
    assert answer["may_omit_exp"] is party.may_omit_exp is True
    assert party.request_uri_prefix == "https://bank.example/requests/"


@pytest.mark.parametrize(
    ("options", "allowed"),
    [
        ([], list(TYPES)),
        (["--transaction-data-type="], []),
        ([f"--transaction-data-type={SESSION}"], [SESSION]),
    ],
)
def test_all_transaction_types_are_allowed_unless_others_or_none_are_named(
    options: list[str], allowed: list[str]
) -> None:
    answer = run(*GOOD, *options)

    assert answer["transaction_data_types"] == allowed
    assert RelyingParty.objects.get().allowed_transaction_data_types == allowed


def test_the_history_says_who_registered_it() -> None:
    run(*GOOD)

    event = RelyingPartyEvent.objects.get()
    assert event.relying_party == RelyingParty.objects.get()
    assert event.action == "Registered"
    assert event.actor == f"{shell_user()}, by register_relying_party"
