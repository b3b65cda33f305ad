"""`list_relying_parties` and `change_relying_party`, as scripts use them."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from presentation.models import RedirectURI, RelyingParty, RelyingPartyEvent
from presentation.relying_parties.authentication import client_secrets
from tests.people import register

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def listed(*client_ids: str) -> list[dict[str, Any]]:
    printed = StringIO()
    call_command("list_relying_parties", *client_ids, stdout=printed)
    found: list[dict[str, Any]] = json.loads(printed.getvalue())
    return found


@pytest.fixture
def change(tmp_path: Path) -> Any:
    """Runs the command with this JSON; gives what it prints and what it says."""

    def run(client_id: str, wanted: Any, *options: str) -> tuple[dict[str, Any], str]:
        file = tmp_path / "wanted.json"
        file.write_text(wanted if isinstance(wanted, str) else json.dumps(wanted))
        printed, said = StringIO(), StringIO()
        call_command(
            "change_relying_party", client_id, f"--file={file}", *options, stdout=printed, stderr=said
        )
        return json.loads(printed.getvalue()), said.getvalue().strip()

    return run


def test_what_is_listed_can_be_given_back_and_changes_nothing(
    acme_bank: RelyingParty, corner_shop: RelyingParty, change: Any
) -> None:
    before = listed()
    assert [party["name"] for party in before] == ["Acme Bank", "Corner Shop"]
    assert listed(corner_shop.client_id) == before[1:]
    for wanted in (before[0], [before[0]]):
        assert change(acme_bank.client_id, wanted) == (before[0], "Changed: nothing")
    assert not RelyingPartyEvent.objects.exists()


def test_the_list_has_no_secrets(acme_bank: RelyingParty) -> None:
    from django.utils import timezone

    secret = client_secrets.rotate(acme_bank, now=timezone.now())
    text = json.dumps(listed())
    assert secret.text not in text
    assert secret.row.digest not in text


def test_who_becomes_a_client_of_openid_connect_is_told_to_choose_its_sub(
    acme_bank: RelyingParty, change: Any
) -> None:
    with pytest.raises(CommandError, match="may_recognise: OpenID Connect needs this choice"):
        change(acme_bank.client_id, {"wire_format": "openid"})
    assert RelyingParty.objects.get(pk=acme_bank.pk).wire_format == "string"

    after, _said = change(acme_bank.client_id, {"wire_format": "openid", "may_recognise": False})
    assert (after["wire_format"], after["may_recognise"]) == ("openid", False)
    after, _said = change(acme_bank.client_id, {"wire_format": "openid", "purpose": "to lend you a book"})
    assert after["purpose"] == "to lend you a book"


def test_members_are_changed_together_and_the_history_names_them(
    acme_bank: RelyingParty, change: Any
) -> None:
    kept = acme_bank.redirect_uris.get(uri="https://bank.example/callback")
    after, said = change(
        acme_bank.client_id,
        {
            "name": "Acme Bank plc",
            "purpose": "to open your account",
            "redirect_uris": [kept.uri, "https://bank.example/second"],
            "response_uris": ["https://bank.example/answers"],
            "requires_pushed_requests": True,
        },
    )
    assert said == "Changed: name, purpose, redirect_uris, response_uris, requires_pushed_requests"
    assert after == listed()[0]
    assert after["name"] == "Acme Bank plc"
    assert [row.uri for row in acme_bank.redirect_uris.all()] == [kept.uri, "https://bank.example/second"]
    assert acme_bank.redirect_uris.first() == kept
    assert RelyingPartyEvent.objects.get().action == said
    after, _said = change(acme_bank.client_id, {"redirect_uris": ["https://bank.example/second"]})
    assert after["redirect_uris"] == ["https://bank.example/second"]


def test_it_suspends_with_a_reason_and_reinstates(acme_bank: RelyingParty, change: Any) -> None:
    with pytest.raises(CommandError, match="A suspension needs a reason"):
        change(acme_bank.client_id, {"state": "suspended"})
    after, _said = change(acme_bank.client_id, {"state": "suspended", "suspension_reason": "Keys leaked"})
    assert (after["state"], after["suspension_reason"]) == ("suspended", "Keys leaked")
    after, _said = change(acme_bank.client_id, {**after, "state": "active"})
    assert (after["state"], after["suspension_reason"]) == ("active", "")


def test_a_rehearsal_prints_the_result_and_keeps_nothing(acme_bank: RelyingParty, change: Any) -> None:
    before = listed()
    after, said = change(acme_bank.client_id, {"purpose": "to try it"}, "--dry-run")
    assert (after["purpose"], said) == ("to try it", "Would change: purpose")
    assert listed() == before
    assert not RelyingPartyEvent.objects.exists()


WRONG = [
    ({"colour": "red"}, "colour: There is no such member"),
    ({"client_id": "another"}, "client_id: This cannot be changed here"),
    ({"created_at": "2020-01-01T00:00:00+00:00"}, "created_at: This cannot be changed here"),
    ({"webhook_url": "https://bank.example/w"}, "webhook_url: This cannot be changed here"),
    ({"name": ""}, "name: "),
    ({"name": 5}, "name: The value has the wrong type"),
    ({"name": "corner SHOP"}, "A relying party with this name is registered already"),
    ({"name": "Acme\u202eknaB"}, "name: Use one line of text"),
    ({"requires_pushed_requests": "yes"}, "requires_pushed_requests: The value has the wrong type"),
    ({"requires_pushed_requests": 1}, "requires_pushed_requests: The value has the wrong type"),
    ({"requires_signed_requests": True}, "requires_signed_requests: Its requests need its public keys"),
    ({"scopes": []}, "scopes: Choose at least one scope"),
    ({"scopes": ["urn:nothing"]}, "scopes: Unknown: urn:nothing"),
    ({"scopes": "urn:nothing"}, "scopes: The value has the wrong type"),
    ({"redirect_uris": []}, "redirect_uris: Name at least one redirect URI"),
    ({"redirect_uris": ["http://bank.example/"]}, "redirect_uris: http://bank.example/: "),
    ({"redirect_uris": ["https://*.example/"]}, "redirect_uris: "),
    ({"redirect_uris": ["javascript:alert(1)"]}, "redirect_uris: "),
    ({"response_uris": [{"uri": "https://bank.example/"}]}, "response_uris: The value has the wrong type"),
    ({"privacy_policy_url": "javascript:alert(1)"}, "privacy_policy_url: "),
    ({"initiate_login_uri": "https://elsewhere.example/"}, "initiate_login_uri: "),
    ({"jwks": []}, "jwks: The value has the wrong type"),
    ({"jwks": {"keys": [{"kty": "oct", "k": "AAAA"}]}}, "jwks: "),
    ({"grants": ["everything"]}, "grants: Unknown: everything"),
    ({"wire_format": "xml"}, "wire_format: "),
    ({"state": "closed", "suspension_reason": "x"}, "state: This is no state"),
    ({"state": "suspended", "suspension_reason": "x" * 301}, "suspension_reason: It is too long"),
    ({"suspension_reason": "x"}, "suspension_reason: It changes together with the state"),
    ("[]", "It must be a JSON object"),
    ("", "This is not JSON"),
    ('{"name": "a", "name": "b"}', "This is not JSON"),
    ("[" * 50_000, "This is not JSON"),
    (" " * 1_000_001, "more than 1000000 characters"),
]


@pytest.mark.parametrize(("wanted", "message"), WRONG)
def test_what_is_wrong_is_named_and_nothing_is_changed(
    acme_bank: RelyingParty, corner_shop: RelyingParty, change: Any, wanted: Any, message: str
) -> None:
    before = listed()
    if isinstance(wanted, dict):
        wanted = {"purpose": "a change that would be fine", **wanted}
    with pytest.raises(CommandError) as raised:
        change(acme_bank.client_id, wanted)
    assert str(raised.value).startswith("Nothing was changed.\n")
    assert message in str(raised.value)
    assert listed() == before
    assert not RelyingPartyEvent.objects.exists()


def test_no_member_takes_what_a_database_has_no_text_for(acme_bank: RelyingParty, change: Any) -> None:
    [party] = listed(acme_bank.client_id)
    for member, value in party.items():
        wanted = ["\0"] if isinstance(value, list) else {"keys": "\0"} if member == "jwks" else "\0"
        with pytest.raises(CommandError, match="Nothing was changed"):
            change(acme_bank.client_id, {member: wanted})


def test_a_client_id_that_is_not_registered_is_named(acme_bank: RelyingParty, change: Any) -> None:
    with pytest.raises(CommandError, match="no relying party with this client ID"):
        change("nobody", {})
    with pytest.raises(CommandError, match=r"client ID: nobody"):
        listed(acme_bank.client_id, "nobody")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
MEMBERS = ["name", "scopes", "redirect_uris", "jwks", "state", "grants", "minimum_assurance", "contact", "x"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(wanted=st.dictionaries(st.sampled_from(MEMBERS), JSON, max_size=3))
def test_any_json_is_taken_or_refused_in_words(
    acme_bank: RelyingParty, change: Any, wanted: dict[str, Any]
) -> None:
    try:
        change(acme_bank.client_id, wanted, "--dry-run")
    except CommandError as error:
        assert str(error).startswith("Nothing was changed.")  # noqa: PT017
    assert RedirectURI.objects.filter(relying_party=acme_bank).count() == 2


def test_many_relying_parties_cost_three_statements(acme_bank: RelyingParty, statements: Any) -> None:
    for number in range(5):
        register(f"Shop {number}", f"https://shop{number}.example/")
    with statements() as counted:
        assert len(listed()) == 6
    assert len(counted.texts) == 3
