"""The model of relying parties: what may be registered, and the states active and suspended."""

import re
import threading
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction

from infra.operations import WrongStateError
from presentation.dcql.queries import BASIC
from presentation.models import RedirectURI, RelyingParty
from presentation.relying_parties import registration
from presentation.relying_parties.metadata import logos
from presentation.transaction_data.types import TYPES
from tests.presentation.relying_parties.png_files import PNG

JPEG = b"\xff\xd8\xff\xe0" + b"\0" * 20
WEBP = b"RIFF\x1a\0\0\0WEBPVP8 " + b"\0" * 20


def registered(**details: Any) -> RelyingParty:
    details = {"name": "Acme Bank", "redirect_uris": ["https://bank.example/callback"]} | details
    return registration.register(**({"allowed_scopes": [BASIC]} | details))


@pytest.mark.django_db
def test_a_registered_relying_party_is_active_and_has_a_client_id_of_its_own() -> None:
    party = registered(redirect_uris=["https://bank.example/b", "https://bank.example/a"])

    party = RelyingParty.objects.get(client_id=party.client_id)
    assert party.state == RelyingParty.State.ACTIVE
    assert re.fullmatch("[0-9a-f]{32}", party.client_id)  # so that no command takes it for an option
    assert ":" not in party.client_id
    assert [row.uri for row in party.redirect_uris.all()] == [
        "https://bank.example/b",
        "https://bank.example/a",
    ]


WRONG = {
    "no name": ({"name": ""}, "name"),
    "a name that turns around": ({"name": "Acme\u202eknaB"}, "name"),
    "a name of two lines": ({"name": "Acme\nBank"}, "name"),
    "a purpose with hidden text": ({"purpose": "to\u200b open"}, "purpose"),
    "no scope": ({"allowed_scopes": []}, "allowed_scopes"),
    "an unknown scope": ({"allowed_scopes": [BASIC, "openid"]}, "allowed_scopes"),
    "scopes as a text": ({"allowed_scopes": BASIC}, "allowed_scopes"),
    "scopes as numbers": ({"allowed_scopes": [1]}, "allowed_scopes"),
    "an address of requests that could mean others": (
        {"request_uri_prefix": "https://bank.example"},
        "request_uri_prefix",
    ),
    "an address of requests without TLS": (
        {"request_uri_prefix": "http://bank.example/requests/"},
        "request_uri_prefix",
    ),
    "signed requests without a key": ({"requires_signed_requests": True}, "requires_signed_requests"),
    "an unknown claim": ({"allowed_claims": ["shoe_size"]}, "allowed_claims"),
    "claims as paths": ({"allowed_claims": [["given_name"]]}, "allowed_claims"),
    "an unknown type": ({"allowed_transaction_data_types": ["x"]}, "allowed_transaction_data_types"),
    "a privacy policy without TLS": ({"privacy_policy_url": "http://bank.example/"}, "privacy_policy_url"),
    "a privacy policy that is a script": ({"privacy_policy_url": "javascript:x"}, "privacy_policy_url"),
    "terms without TLS": ({"terms_url": "http://bank.example/"}, "terms_url"),
    "a contact that is no address": ({"contact": "x"}, "contact"),
    "an unknown wire format": ({"wire_format": "x"}, "wire_format"),
    "a logo that is a web page": ({"logo": b"<html>"}, "__all__"),
    "a logo that is a drawing with scripts": (
        {"logo": b"<svg xmlns='http://www.w3.org/2000/svg'/>"},
        "__all__",
    ),
    "a logo too large": ({"logo": PNG + b"\0" * logos.LARGEST}, "__all__"),
    "no redirect URI": ({"redirect_uris": []}, "redirect_uris"),
    "a wrong redirect URI": (
        {"redirect_uris": ["https://bank.example/", "http://bank.example"]},
        "redirect_uris",
    ),
    "a redirect URI twice": ({"redirect_uris": ["https://bank.example/"] * 2}, "redirect_uris"),
}


@pytest.mark.django_db
@pytest.mark.parametrize(("details", "field"), WRONG.values(), ids=WRONG.keys())
def test_what_may_not_be_registered_names_its_field_and_leaves_nothing_behind(
    details: dict[str, Any], field: str
) -> None:
    with pytest.raises(ValidationError) as raised:
        registered(**details)

    assert field in raised.value.message_dict
    assert not RelyingParty.objects.exists()
    assert not RedirectURI.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["Acme Bank", "ACME bank"])
def test_two_relying_parties_cannot_share_a_name(name: str) -> None:
    registered()

    with pytest.raises(ValidationError, match="registered already"):
        registered(name=name)


@pytest.mark.django_db
def test_two_relying_parties_may_share_a_redirect_uri() -> None:
    registered()

    assert registered(name="Acme Bank (test)").redirect_uris.count() == 1


@pytest.mark.django_db
def test_localhost_is_a_redirect_uri_only_where_the_settings_say_so(settings: Any) -> None:
    settings.LOCALHOST_REDIRECT_URIS = True
    registered(redirect_uris=["http://localhost:3000/callback"])

    settings.LOCALHOST_REDIRECT_URIS = False
    with pytest.raises(ValidationError, match="instead of localhost"):
        registered(name="Other", redirect_uris=["http://localhost:3000/callback"])


@pytest.mark.parametrize(
    ("picture", "content_type"),
    [
        (PNG, "image/png"),
        (JPEG, "image/jpeg"),
        (WEBP, "image/webp"),
        (b"", ""),
        (b"GIF89a", ""),
        (b"<svg", ""),
    ],
)
def test_a_logo_is_known_by_its_content(picture: bytes, content_type: str) -> None:
    assert logos.content_type(picture) == content_type


@pytest.mark.django_db
def test_a_suspension_has_a_reason_and_ends() -> None:
    party = registered()

    registration.suspend(party, "Complaints")
    kept = RelyingParty.objects.get()
    assert (kept.state, kept.suspension_reason) == ("suspended", "Complaints")

    registration.reinstate(party)
    kept = RelyingParty.objects.get()
    assert (kept.state, kept.suspension_reason) == ("active", "")


@pytest.mark.django_db
def test_a_suspension_without_a_reason_is_none() -> None:
    with pytest.raises(ValueError):
        registration.suspend(registered(), " ")

    assert RelyingParty.objects.get().state == "active"


@pytest.mark.django_db
def test_suspending_twice_is_reported() -> None:
    party = registered()
    with pytest.raises(WrongStateError):
        registration.reinstate(party)
    registration.suspend(party, "First")

    with pytest.raises(WrongStateError):
        registration.suspend(party, "Second")

    assert RelyingParty.objects.get().suspension_reason == "First"


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_many_suspensions_at_once_one_is_made() -> None:
    party = registered()
    start = threading.Barrier(6)
    made: list[str] = []

    def suspend(reason: str) -> None:
        try:
            start.wait()
            registration.suspend(RelyingParty.objects.get(pk=party.pk), reason)
            made.append(reason)
        except WrongStateError:
            pass
        finally:
            connection.close()

    threads = [threading.Thread(target=suspend, args=[f"reason {number}"]) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert made == [RelyingParty.objects.get().suspension_reason]


BROKEN = {
    "suspended without a reason": {"state": "suspended"},
    "active with a reason": {"suspension_reason": "x"},
    "an unknown state": {"state": "gone"},
    "an unknown wire format": {"wire_format": "x"},
    "a client id with a prefix": {"client_id": "x509_hash:abc"},
    "no client id": {"client_id": ""},
    "no name": {"name": ""},
}


@pytest.mark.django_db
@pytest.mark.parametrize("values", BROKEN.values(), ids=BROKEN.keys())
def test_the_database_refuses_what_makes_no_sense(values: dict[str, str]) -> None:
    party = registered()

    with pytest.raises(IntegrityError), transaction.atomic():
        RelyingParty.objects.filter(pk=party.pk).update(**values)


@pytest.mark.django_db
@pytest.mark.parametrize(
    "uri", ["", "/callback", "https://a.example/#x", "https://*.example/", "https://a b/", "https://a\\b/"]
)
def test_the_database_refuses_redirect_uris_that_could_never_be_right(uri: str) -> None:
    party = registered()

    with pytest.raises(IntegrityError), transaction.atomic():
        RedirectURI.objects.create(relying_party=party, uri=uri)


@pytest.mark.django_db
def test_every_type_may_be_allowed() -> None:
    assert registered(allowed_transaction_data_types=list(TYPES)).allowed_transaction_data_types == list(
        TYPES
    )
