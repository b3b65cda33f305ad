"""The admin of relying parties and interactions, through its pages."""

import re
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from presentation.dcql.queries import BASIC
from presentation.models import Interaction, RelyingParty
from presentation.parameters import Parameters
from presentation.scopes import catalogue
from presentation.transaction_data.types import TYPES
from tests.presentation.relying_parties.admin_form import LIST, form, page
from tests.presentation.requests.certified_client_ids import DNS, certificate_of, hash_of

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR" + b"\0\0\0\x20" * 2 + b"\x08\x06\0\0\0"  # 32 × 32 pixels


@pytest.fixture
def operator(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("operator"))
    return client


def test_an_operator_registers_a_relying_party(operator: Client) -> None:
    chosen = list(TYPES)[:2]
    changes = {"allowed_transaction_data_types": chosen, "allowed_claims": ["birth_date"]}
    changes |= {
        "requires_pushed_requests": "on",
        "may_omit_exp": "on",
        "may_omit_login_hint": "on",
        "request_uri_prefix": "https://books.example/requests/",
    }
    response = operator.post(f"{LIST}add/", form("https://books.example/callback", **changes))

    assert response.status_code == 302
    party = RelyingParty.objects.get()
    assert (party.name, party.allowed_scopes) == ("Bookshop", [BASIC])
    assert party.allowed_transaction_data_types == chosen
    assert party.claims_it_may_ask(catalogue.current()) == {("birth_date",)}
    assert (party.requires_pushed_requests, party.requires_signed_requests) == (True, False)
    assert party.may_omit_exp
    assert party.may_omit_login_hint
    assert party.request_uri_prefix == "https://books.example/requests/"
    assert [row.uri for row in party.redirect_uris.all()] == ["https://books.example/callback"]


def test_a_new_relying_party_may_use_every_transaction_type_unless_they_are_unticked(
    operator: Client,
) -> None:
    said = page(operator.get(f"{LIST}add/"))
    ticked = re.findall(r'name="allowed_transaction_data_types" value="([^"]+)"[^>]* checked', said)
    operator.post(f"{LIST}add/", form("https://books.example/callback"))

    assert ticked == list(TYPES)
    assert RelyingParty.objects.get().allowed_transaction_data_types == []


def test_without_keys_the_field_for_them_is_empty(operator: Client, acme_bank: RelyingParty) -> None:
    for address in (f"{LIST}add/", f"{LIST}{acme_bank.pk}/change/"):
        found = re.search(r'<textarea name="jwks"[^>]*>(.*?)</textarea>', page(operator.get(address)), re.S)
        assert found
        assert found[1].strip() == ""


@pytest.mark.parametrize(
    ("uris", "changes", "says"),
    [
        (["http://books.example/"], {}, "Use https."),
        (["https://b.example/", "https://b.example/"], {}, "duplicate"),
        ([], {}, "Add at least one redirect URI."),
        (
            ["https://b.example/"],
            {"allowed_scopes": ["openid"]},
            "openid is not one of the available choices",
        ),
        (
            ["https://b.example/"],
            {"initiate_login_uri": "https://c.example/"},
            "on the host of one of the redirect URIs",
        ),
        (
            ["https://b.example/"],
            {"logo_file": SimpleUploadedFile("logo.png", PNG + b"\0" * 65536, "image/png")},
            "too large",
        ),
    ],
)
def test_the_page_explains_mistakes(operator: Client, uris: list[str], changes: Any, says: str) -> None:
    response = operator.post(f"{LIST}add/", form(*uris, **changes))

    assert says in page(response)
    assert not RelyingParty.objects.exists()


def test_an_address_without_a_scheme_is_read_as_https(operator: Client) -> None:
    operator.post(f"{LIST}add/", form("https://b.example/", terms_url="b.example/terms"))

    assert RelyingParty.objects.get().terms_url == "https://b.example/terms"


def test_a_logo_is_uploaded_shown_and_removed(operator: Client) -> None:
    operator.post(
        f"{LIST}add/", form("https://b.example/", logo_file=SimpleUploadedFile("x.gif", PNG, "image/gif"))
    )
    party = RelyingParty.objects.get()
    assert bytes(party.logo) == PNG
    address = f"{LIST}{party.pk}/change/"
    assert f'src="/relying-parties/{party.client_id}/logo"' in page(operator.get(address))

    row = party.redirect_uris.get()
    kept = {
        "redirect_uris-INITIAL_FORMS": 1,
        "redirect_uris-0-id": row.pk,
        "redirect_uris-0-relying_party": party.pk,
    }
    operator.post(address, form(row.uri, **kept, name="Bookseller"))
    party.refresh_from_db()
    assert (party.name, bytes(party.logo)) == ("Bookseller", PNG)

    operator.post(address, form(row.uri, **kept, remove_logo="on"))
    party.refresh_from_db()
    assert bytes(party.logo) == b""


def test_the_client_id_is_shown_and_cannot_be_changed(operator: Client, acme_bank: RelyingParty) -> None:
    before = acme_bank.client_id
    row = acme_bank.redirect_uris.all()[0]
    operator.post(
        f"{LIST}{acme_bank.pk}/change/",
        form(
            row.uri,
            client_id="mine",
            state="suspended",
            **{
                "redirect_uris-0-id": row.pk,
                "redirect_uris-INITIAL_FORMS": 1,
                "redirect_uris-0-relying_party": acme_bank.pk,
            },
        ),
    )

    acme_bank.refresh_from_db()
    assert (acme_bank.name, acme_bank.client_id, acme_bank.state) == ("Bookshop", before, "active")
    assert before in page(operator.get(f"{LIST}{acme_bank.pk}/change/"))


def test_the_integration_panel_has_addresses_and_requests_that_work(
    operator: Client, acme_bank: RelyingParty, settings: Any
) -> None:
    said = page(operator.get(f"{LIST}{acme_bank.pk}/change/"))

    for path in ("/.well-known/openid-configuration", "/openid-connect/jwks"):
        assert f"<code>{settings.BASE_URL}{path}</code>" in said
    ready = re.findall(r"<pre><code>(.*?)</code></pre>", said)
    assert len(ready) == acme_bank.redirect_uris.count()
    nonces = {parse_qs(urlsplit(address).query)["nonce"][0] for address in ready}
    assert len(nonces) == len(ready)
    for address in ready:
        assert " " not in address
        assert Parameters.from_query(urlsplit(address).query).first_problem() is None
        response = Client().get(address.removeprefix(settings.BASE_URL))
        assert response.status_code == 303
        assert response.headers["Location"].startswith("/wallet/")


def test_a_new_relying_party_has_no_panel_yet(operator: Client) -> None:
    assert "/openid-connect/jwks" not in page(operator.get(f"{LIST}add/"))


def test_relying_parties_are_found_by_name_client_id_and_uri(
    operator: Client, acme_bank: RelyingParty, corner_shop: RelyingParty
) -> None:
    for words in ("acme", acme_bank.client_id, "bank.example/callback"):
        said = page(operator.get(LIST, {"q": words}))
        assert "Acme Bank" in said
        assert "Corner Shop" not in said


def test_relying_parties_are_filtered_by_state(
    operator: Client, acme_bank: RelyingParty, corner_shop: RelyingParty
) -> None:
    operator.post(f"{LIST}{acme_bank.pk}/suspend/", {"reason": "x"})

    said = page(operator.get(LIST, {"state__exact": "suspended"}))

    assert "Acme Bank" in said
    assert "Corner Shop" not in said


def test_suspending_asks_first_needs_a_reason_and_is_in_the_history(
    operator: Client, acme_bank: RelyingParty
) -> None:
    address = f"{LIST}{acme_bank.pk}/suspend/"
    assert address in page(operator.get(f"{LIST}{acme_bank.pk}/change/"))
    assert "Suspend Acme Bank?" in page(operator.get(address))
    assert "This field is required" in page(operator.post(address, {"reason": " "}))
    assert RelyingParty.objects.get().state == "active"

    response = operator.post(address, {"reason": "Complaints from holders"})

    assert response.status_code == 302
    assert RelyingParty.objects.get().state == "suspended"
    assert "Complaints from holders" in page(operator.get(f"{LIST}{acme_bank.pk}/change/"))
    assert "Suspended: Complaints from holders" in page(operator.get(f"{LIST}{acme_bank.pk}/history/"))


def test_reinstating_asks_first_and_is_in_the_history(operator: Client, acme_bank: RelyingParty) -> None:
    operator.post(f"{LIST}{acme_bank.pk}/suspend/", {"reason": "Complaints"})
    address = f"{LIST}{acme_bank.pk}/reinstate/"
    assert address in page(operator.get(f"{LIST}{acme_bank.pk}/change/"))
    assert "“Complaints”" in page(operator.get(address))
    assert RelyingParty.objects.get().state == "suspended"

    operator.post(address)

    assert RelyingParty.objects.get().state == "active"
    assert "Reinstated" in page(operator.get(f"{LIST}{acme_bank.pk}/history/"))


@pytest.mark.parametrize(
    ("name", "asks"), [("suspend", "it gets no credentials"), ("reinstate", "may ask again")]
)
@pytest.mark.parametrize("state", ["active", "suspended"])
def test_a_confirmation_page_asks_about_its_own_operation_and_shows_the_state(
    operator: Client, acme_bank: RelyingParty, state: str, name: str, asks: str
) -> None:
    """Also a page that an operator opened before another operator changed the relying party."""
    RelyingParty.objects.update(state=state, suspension_reason="Complaints" if state == "suspended" else "")

    said = page(operator.get(f"{LIST}{acme_bank.pk}/{name}/"))

    assert asks in said
    assert f'value="{name.capitalize()}"' in said
    assert f"<strong>Acme Bank</strong> · {state}" in said


def test_the_second_of_two_operators_learns_that_nothing_changed(
    operator: Client, acme_bank: RelyingParty
) -> None:
    address = f"{LIST}{acme_bank.pk}/suspend/"
    operator.post(address, {"reason": "First"})

    said = page(operator.post(address, {"reason": "Second"}, follow=True))

    assert "Somebody was faster" in said
    assert RelyingParty.objects.get().suspension_reason == "First"
    assert LogEntry.objects.count() == 1


def test_a_relying_party_that_never_asked_can_be_deleted(operator: Client, acme_bank: RelyingParty) -> None:
    assert f"{LIST}{acme_bank.pk}/delete/" in page(operator.get(f"{LIST}{acme_bank.pk}/change/"))

    operator.post(f"{LIST}{acme_bank.pk}/delete/", {"post": "yes"})

    assert not RelyingParty.objects.exists()


def test_a_relying_party_with_requests_is_suspended_instead(
    operator: Client, acme_bank: RelyingParty, interaction: Interaction
) -> None:
    said = page(operator.get(f"{LIST}{acme_bank.pk}/change/"))

    assert f"{LIST}{acme_bank.pk}/delete/" not in said
    assert "Suspend it instead" in said
    assert operator.post(f"{LIST}{acme_bank.pk}/delete/", {"post": "yes"}).status_code == 403
    assert "delete_selected" not in page(operator.get(LIST))


@pytest.mark.parametrize("name", ["suspend", "reinstate"])
def test_there_is_nothing_to_move_where_there_is_no_relying_party(operator: Client, name: str) -> None:
    assert operator.get(f"{LIST}4711/{name}/").status_code == 404


@pytest.fixture
def interaction(acme_bank: RelyingParty) -> Interaction:
    now = timezone.now()
    return Interaction.objects.create(
        relying_party=acme_bank,
        redirect_uri="https://bank.example/callback",
        browser="b" * 64,
        parameters={"login_hint": "alice@example.org", "nonce": "secret-nonce-value"},
        request_hash="h" * 64,
        nonce_digest="d" * 64,
        created_at=now,
        expires_at=now + timedelta(minutes=30),
    )


def test_interactions_are_shown_without_their_parameters(operator: Client, interaction: Interaction) -> None:
    address = f"/admin/presentation/interaction/{interaction.pk}/change/"

    for said in (page(operator.get("/admin/presentation/interaction/")), page(operator.get(address))):
        assert "Acme Bank" in said
        for private in ("alice@example.org", "secret-nonce-value", "b" * 64, "h" * 64, "d" * 64):
            assert private not in said


def test_no_operator_can_change_interactions(operator: Client, interaction: Interaction) -> None:
    base = "/admin/presentation/interaction/"

    assert operator.get(f"{base}add/").status_code == 403
    assert operator.post(f"{base}{interaction.pk}/change/", {"error": "x"}).status_code == 403
    assert operator.post(f"{base}{interaction.pk}/delete/", {"post": "yes"}).status_code == 403


def test_interactions_are_found_by_id_and_by_relying_party(
    operator: Client, interaction: Interaction
) -> None:
    for words in (str(interaction.pk), "acme", interaction.relying_party.client_id):
        assert str(interaction.pk) in page(operator.get("/admin/presentation/interaction/", {"q": words}))
    assert "0 interactions" in page(operator.get("/admin/presentation/interaction/", {"q": "nobody"}))


def test_where_requests_begin_is_on_the_host_of_a_redirect_uri_that_stays(operator: Client) -> None:
    start = "https://app.b.example/sign-in?from=wallet"
    operator.post(
        f"{LIST}add/", form("https://b.example/", "https://app.b.example/", initiate_login_uri=start)
    )
    party = RelyingParty.objects.get()
    assert party.initiate_login_uri == start

    rows = {f"redirect_uris-{number}-id": row.id for number, row in enumerate(party.redirect_uris.all())}
    rows |= {"redirect_uris-INITIAL_FORMS": 2, "redirect_uris-1-DELETE": "on"}
    changed = form("https://b.example/", "https://app.b.example/", initiate_login_uri=start, **rows)
    response = operator.post(f"{LIST}{party.pk}/change/", changed)

    assert "on the host of one of the redirect URIs" in page(response)
    assert party.redirect_uris.count() == 2


def test_an_operator_registers_client_ids_with_certificates(operator: Client) -> None:
    leaf, rows = certificate_of(), "certified_client_ids"
    added = {
        f"{rows}-TOTAL_FORMS": 2,
        f"{rows}-0-certificates": leaf.pem,
        f"{rows}-1-client_id": DNS,
        f"{rows}-1-certificates": leaf.pem,
    }
    facts = form("https://shop.example/callback", wire_format="openid4vp-1.0", **added)
    assert operator.post(f"{LIST}add/", facts).status_code == 302
    party = RelyingParty.objects.get()
    assert [row.client_id for row in party.certified_client_ids.all()] == [hash_of(leaf), DNS]
    assert DNS in page(operator.get(f"{LIST}{party.pk}/change/"))

    again = page(operator.post(f"{LIST}add/", facts | {"name": "Other Shop"}))
    assert "already exists" in again
    assert "no certificates" in page(operator.post(f"{LIST}add/", facts | {f"{rows}-0-certificates": "x"}))
    assert RelyingParty.objects.count() == 1
