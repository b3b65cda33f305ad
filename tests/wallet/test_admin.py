"""The admin of wallets: operations are confirmed, permitted and recorded; lists hold no personal data."""

import re
from datetime import UTC, date, datetime

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse

from tests.day_inputs import typed_day
from tests.drawn import without_drawn
from tests.people import ALICE, NORA
from tests.wallet.attempts import in_review, log_of
from tests.wallet.operators import address, operate, operator
from tests.wallet.typed_identities import TYPED
from wallet.credential import credentials
from wallet.credential.claims import Identity
from wallet.models import Credential, HolderSession, IdentityVerification, Wallet

pytestmark = pytest.mark.slow

BORN = {"place_of_birth": {"locality": "Leeds"}}


def test_a_wallet_is_found_by_its_whole_address_and_listed_without_it(olga, alice, bob):
    listing = reverse("admin:wallet_wallet_changelist")
    text = olga.get(listing).content.decode()
    assert str(alice.id) in text
    assert ALICE not in text
    text = olga.get(listing, {"q": ALICE.upper()}).content.decode()
    assert str(alice.id) in text
    assert str(bob.id) not in text
    assert str(alice.id) not in olga.get(listing, {"q": "example.org"}).content.decode()
    assert str(alice.id) in olga.get(listing, {"q": str(alice.id)}).content.decode()
    assert ALICE in olga.get(address(alice)).content.decode()


@pytest.mark.parametrize("model", ["wallet", "identityverification", "credential"])
def test_lists_say_nothing_about_people(olga, alice, nora, now, model):
    in_review(nora, now)
    text = without_drawn(olga.get(reverse(f"admin:wallet_{model}_changelist")).content.decode())
    for word in (ALICE, NORA, "Alice", "Archer", "Nora", "1990", "1999-12"):
        assert word not in text


def test_suspending_a_wallet_is_asked_once_more_and_signs_it_out(olga, alice, sign_in):
    sign_in(alice)
    assert "Suspend" in olga.get(address(alice)).content.decode()
    page = olga.get(address(alice, "do", "suspend"))
    assert "nobody can sign in" in page.content.decode()
    assert Wallet.objects.get().state == "active"
    assert olga.post(address(alice, "do", "suspend"), {"reason": ""}).status_code == 200
    assert Wallet.objects.get().state == "active"
    response = operate(olga, alice, "suspend", reason="Reported stolen")
    assert (response.status_code, response.url) == (302, address(alice))
    stored = Wallet.objects.get()
    assert (stored.state, stored.suspension_reason) == ("suspended", "Reported stolen")
    assert not HolderSession.objects.exists()
    entry = LogEntry.objects.get()
    assert (entry.user.username, entry.object_id) == ("olga", str(alice.pk))
    assert entry.get_change_message() == "Suspended: Reported stolen"
    operate(olga, alice, "reinstate")
    assert Wallet.objects.get().state == "active"


def test_afterwards_it_is_said_what_was_done_and_the_history_begins_with_the_last(olga, alice):
    sent = {"reason": "Reported stolen"}
    said = olga.post(address(alice, "do", "suspend"), sent, follow=True).content.decode()
    assert f"Wallet {str(alice.id)[:8]}: Suspended: Reported stolen" in said
    operate(olga, alice, "reinstate", reason="Found again")
    history = olga.get(address(alice, "history")).content.decode()
    assert history.index("Reinstated: Found again") < history.index("Suspended: Reported stolen")


@pytest.mark.parametrize(
    ("name", "red"), [("suspend", False), ("revoke", True)], ids=["can be undone", "cannot"]
)
def test_what_cannot_be_undone_has_a_button_of_its_own(olga, alice, name, red):
    page = olga.get(address(alice.credential, "do", name)).content.decode()
    assert ('class="default irreversible"' in page) is red


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("suspend", "valid", "suspended"),
        ("reinstate", "suspended", "valid"),
        ("revoke", "valid", "revoked"),
        ("revoke", "suspended", "revoked"),
    ],
)
def test_a_credential_is_moved_with_a_reason(olga, alice, name, before, after):
    Credential.objects.update(state=before)
    credential = Credential.objects.get()
    assert olga.get(address(credential, "do", name)).status_code == 200
    assert Credential.objects.get().state == before
    operate(olga, credential, name)
    assert Credential.objects.get().state == after
    assert "Because" in LogEntry.objects.get().get_change_message()


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("suspend", "revoked"),
        ("suspend", "suspended"),
        ("reinstate", "valid"),
        ("reinstate", "revoked"),
        ("revoke", "revoked"),
        ("explode", "valid"),
    ],
)
def test_what_does_not_fit_the_state_is_not_offered_and_not_done(olga, alice, name, state):
    Credential.objects.update(state=state)
    credential = Credential.objects.get()
    assert f"/do/{name}/" not in olga.get(address(credential)).content.decode()
    assert operate(olga, credential, name).status_code == 302
    assert Credential.objects.get().state == state
    assert not LogEntry.objects.exists()


def test_a_review_starts_from_what_was_read_and_ends_in_what_was_typed(olga, nora, now):
    verification = in_review(nora, now, Identity("Nora", "New", date(1999, 12, 31), ("IE",)))
    text = olga.get(address(verification, "do", "approve")).content.decode()
    assert 'value="New"' in text
    assert re.search(
        r'name="birth_date_day" value="31".*<option value="12" selected>December', text, re.DOTALL
    )
    assert 'name="birth_date_year" value="1999"' in text
    assert re.search("<legend.*>Birth date:</legend>", text)
    assert 'type="date"' not in text  # browsers order day and month by their own language
    assert '<label for="id_reason" class="required">' in text
    assert 'value="IE"' in text
    response = operate(olga, verification, "approve", **TYPED)
    assert (response.status_code, response.url) == (302, address(verification))
    assert IdentityVerification.objects.get().state == "approved"
    assert Credential.objects.get().wallet == nora
    assert log_of(verification)[-1] == ("review", "approved", "olga", "Passport seen")
    shown = olga.get(address(verification)).content.decode()
    assert "Passport seen" in shown
    assert "<td>in review by a person</td><td>approved</td>" in shown


def test_an_operator_adds_the_details_that_the_check_is_set_to_verify(olga, nora, now, settings):
    settings.IDENTITY_PROVIDERS = {"in_person": {"details": "address document"}}
    verification = in_review(nora, now, Identity("Nora", "New", date(1999, 12, 31), details=BORN))
    IdentityVerification.objects.update(provider="in_person")
    text = olga.get(address(verification, "do", "approve")).content.decode()
    assert "Address: Town" in text
    assert 'name="place_of_birth' not in text
    operate(olga, verification, "approve", **TYPED, address_locality="Cork", address_country="Ireland")
    assert (
        credentials.disclosed(Credential.objects.get(), today=date(2026, 1, 1)).items()
        >= {
            "address": {"formatted": "Cork\nIreland", "locality": "Cork", "country": "IE"},
            "document": {
                "type": "passport",
                "number": "P1234567",
                "issuing_country": "IE",
                "expiry_date": "2031-04-12",
            },
        }.items()
    )
    assert credentials.details_of(Credential.objects.get()) == {"address", "document"}


def test_a_review_without_anything_read_starts_empty(olga, nora, now):
    verification = in_review(nora, now, identity=None)
    assert olga.get(address(verification, "do", "approve")).status_code == 200
    operate(olga, verification, "approve", **TYPED)
    assert Credential.objects.exists()


def test_claims_that_no_longer_open_are_typed_in(olga, nora, now, settings):
    verification = in_review(nora, now)
    settings.KEY_SEALING_KEYS = ["x" * 43]
    text = olga.get(address(verification, "do", "approve")).content.decode()
    assert 'value="New"' not in text
    operate(olga, verification, "approve", **TYPED)
    assert Credential.objects.exists()


@pytest.mark.parametrize(
    "wrong", [typed_day("birth_date", "2999-01-01"), {"given_name": "", "family_name": ""}, {"reason": ""}]
)
def test_an_identity_that_cannot_be_is_not_approved(olga, nora, now, wrong):
    verification = in_review(nora, now)
    response = operate(olga, verification, "approve", **(TYPED | wrong))
    assert response.status_code == 200
    assert "errornote" in response.content.decode()
    assert IdentityVerification.objects.get().state == "review"


def test_a_review_is_declined_with_a_reason(olga, nora, now):
    verification = in_review(nora, now)
    operate(olga, verification, "decline", reason="Forged")
    assert IdentityVerification.objects.get().state == "declined"
    assert not Credential.objects.exists()


def test_a_held_wallet_is_not_given_a_credential(olga, nora, now):
    verification = in_review(nora, now)
    Wallet.objects.update(state="suspended")
    response = olga.post(address(verification, "do", "approve"), TYPED, follow=True)
    assert "Reinstate it first" in response.content.decode()
    assert IdentityVerification.objects.get().state == "review"
    assert not LogEntry.objects.exists()


@pytest.mark.parametrize("name", ["approve", "decline"])
def test_the_second_of_two_operators_sees_that_it_was_done(olga, nora, now, name):
    verification = in_review(nora, now)
    operate(olga, verification, "decline", reason="Forged")
    response = olga.post(address(verification, "do", name), TYPED, follow=True)
    assert "cannot be done any more" in response.content.decode()
    assert LogEntry.objects.count() == 1


def rows(alice, nora, now):
    return [
        (alice, ["suspend"]),
        (alice.credential, ["suspend", "revoke"]),
        (in_review(nora, now), ["approve", "ask-again", "decline", "release"]),
    ]


def test_an_auditor_reads_everything_but_claims_and_changes_nothing(audrey, alice, nora, now):
    for row, names in rows(alice, nora, now):
        response = audrey.get(address(row))
        assert response.status_code == 200
        assert "/do/" not in response.content.decode()
        assert "New" not in without_drawn(response.content.decode()).replace("Newest", "")
        for name in names:
            assert audrey.get(address(row, "do", name)).status_code == 403
            assert operate(audrey, row, name, **TYPED).status_code == 403
    assert not LogEntry.objects.exists()


def test_other_operators_and_strangers_see_nothing(alice, nora, now):
    outsider = operator("otto")
    for row, names in rows(alice, nora, now):
        assert outsider.get(address(row)).status_code == 403
        for name in names:
            assert outsider.get(address(row, "do", name)).status_code == 403
            assert Client().post(address(row, "do", name), TYPED).status_code == 302
    assert Wallet.objects.filter(state="suspended").count() == 0


def test_nothing_can_be_typed_in_or_deleted_even_by_a_superuser(admin_client, alice, nora, now):
    for row, _ in rows(alice, nora, now):
        name = row._meta.model_name
        assert admin_client.get(reverse(f"admin:wallet_{name}_add")).status_code == 403
        assert admin_client.post(address(row, "delete"), {"post": "yes"}).status_code == 403
        assert admin_client.post(address(row), {"state": "revoked"}).status_code == 403


def test_confirmation_pages_are_not_kept_by_browsers_and_need_their_token(olga, nora, now):
    verification = in_review(nora, now)
    assert "no-store" in olga.get(address(verification, "do", "approve")).headers["Cache-Control"]
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = olga.cookies
    assert operate(strict, verification, "decline").status_code == 403
    assert IdentityVerification.objects.get().state == "review"


def test_an_unknown_row_is_not_found(olga, alice):
    import uuid

    assert olga.get(reverse("admin:wallet_wallet_do", args=[uuid.uuid4(), "suspend"])).status_code == 404


# --- What an identity is good for --------------------------------------------------------------------------

ENDED = {"expires_at": datetime(2026, 5, 4, tzinfo=UTC)}
ERASED = {"sealed_identity": b"", "erased_at": datetime(2026, 6, 4, tzinfo=UTC)}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, "valid"),
        (ENDED, "expired"),
        (ENDED | ERASED, "expired, erased"),
        ({"state": "revoked"}, "revoked"),
        ({"state": "revoked"} | ERASED, "revoked, erased"),
        ({"state": "suspended"}, "suspended"),
        ({"sealed_identity": b""}, "cannot be opened"),
        ({"sealed_identity": b"\x01 rubbish that no key opens"}, "cannot be opened"),
    ],
)
def test_the_admin_calls_an_identity_valid_only_if_it_can_be_presented(olga, alice, change, words):
    Credential.objects.update(**change)
    credential = Credential.objects.get()
    pages = [
        address(alice),
        reverse("admin:wallet_wallet_changelist"),
        address(credential),
        reverse("admin:wallet_credential_changelist"),
    ]
    pages += [address(credential, "do", "revoke")] if credential.state != "revoked" else []
    for page in pages:
        text = re.sub(r"<(nav|ul|details)\b.*?</\1>", "", olga.get(page).content.decode(), flags=re.S)
        assert words in text, page
        assert bool(re.search(r"(>|· )\s*valid\s*<", text)) is (words == "valid"), page


@pytest.mark.parametrize(("change", "word"), [(ENDED, "expired"), ({"state": "revoked"}, "revoked")])
def test_the_list_of_credentials_is_filtered_by_what_they_are_good_for(olga, alice, bob, change, word):
    Credential.objects.filter(wallet=bob).update(**change)
    for wanted, shown in (("valid", [alice]), (word, [bob]), ("nonsense", [alice, bob])):
        listing = olga.get(reverse("admin:wallet_credential_changelist"), {"validity": wanted})
        assert {row.wallet_id for row in listing.context["cl"].result_list} == {w.id for w in shown}


def test_an_identity_without_claims_is_not_listed_among_the_valid_ones(olga, alice):
    Credential.objects.update(sealed_identity=b"")
    listing = olga.get(reverse("admin:wallet_credential_changelist"), {"validity": "valid"})
    assert not listing.context["cl"].result_list
