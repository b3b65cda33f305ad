"""The table of scopes, its admin, and the memory of it that all processes keep."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.test import Client

from presentation.dcql.queries import BASIC
from presentation.metadata import discovery_document
from presentation.models import RelyingParty, Scope
from presentation.relying_parties.forms import RelyingPartyForm
from presentation.scopes import catalogue
from presentation.scopes.models import FixedScopeError
from presentation.scopes.records import THE_BASIC_SCOPE, ScopeError
from tests.presentation.requests.authorization_requests import PATH, asked, fragment
from wallet.credential.claims import CLAIMS

pytestmark = pytest.mark.django_db
PREFIX = "urn:service:params:scope:verifiable-credentials:"
ADMIN = "/admin/presentation/scope/"
URN = "urn:example:scope:person"
FORM: dict[str, Any] = {
    "urn": URN,
    "title": "Person",
    "required_claims": ["given_name"],
    "optional_claims": ["birth_date"],
}


def new_scope(**changes: Any) -> Scope:
    scope = Scope(**(FORM | changes))
    scope.full_clean()
    scope.save()
    return scope


# --- What every service begins with ------------------------------------------------------------------------


def test_four_scopes_are_shipped() -> None:
    shipped = {urn.removeprefix(PREFIX): scope for urn, scope in catalogue.current().items()}

    assert {name: (scope.required, scope.optional) for name, scope in shipped.items()} == {
        "basic": (("given_name", "family_name", "age_equal_or_over.18"), ()),
        "age-over-18": (("age_equal_or_over.18",), ()),
        "identity": (("birth_date",), ("nationalities",)),
        "contact": (("email",), ()),
    }
    assert catalogue.current()[BASIC] == THE_BASIC_SCOPE
    assert CLAIMS["email",].optional


def test_the_operators_of_relying_parties_edit_scopes_and_auditors_read_them() -> None:
    assert permissions("Relying parties") == {"view_scope", "add_scope", "change_scope", "delete_scope"}
    assert permissions("Audit (read only)") == {"view_scope"}


def permissions(group: str) -> set[str]:
    rows = Permission.objects.filter(group__name=group, content_type__model="scope")
    return set(rows.values_list("codename", flat=True))


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM presentation_scope WHERE urn = %s",
        "UPDATE presentation_scope SET required_claims = '[\"birth_date\"]' WHERE urn = %s",
        "UPDATE presentation_scope SET required_claims = '{}' WHERE urn = %s",
    ],
)
def test_a_database_without_the_basic_scope_gets_it_back_and_requests_never_miss_it(damage: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(damage, [BASIC])
    assert catalogue.current()[BASIC] == THE_BASIC_SCOPE

    call_command("migrate", "presentation", verbosity=0)

    assert Scope.objects.get(urn=BASIC).record == THE_BASIC_SCOPE


# --- The basic scope stays ----------------------------------------------------------------------------------


def basic() -> Scope:
    return Scope.objects.get(urn=BASIC)


def changed() -> None:
    scope = basic()
    scope.optional_claims = ["email"]
    scope.save()


ATTEMPTS = {
    "save": changed,
    "delete": lambda: basic().delete(),
    "delete of a queryset": lambda: Scope.objects.all().delete(),
    "update": lambda: Scope.objects.filter(urn=BASIC).update(title="x"),
    "bulk update": lambda: Scope.objects.bulk_update([basic()], ["title"]),
}


@pytest.mark.parametrize("attempt", ATTEMPTS.values(), ids=ATTEMPTS.keys())
def test_the_basic_scope_cannot_be_changed_or_deleted(attempt: Any) -> None:
    with pytest.raises(FixedScopeError), transaction.atomic():
        attempt()

    assert basic().record == THE_BASIC_SCOPE
    assert Scope.objects.count() == 4


def test_the_admin_neither_changes_nor_deletes_the_basic_scope(admin_client: Client) -> None:
    page = f"{ADMIN}{BASIC.replace('_', '_5F').replace(':', '_3A')}/"

    shown = admin_client.get(f"{page}change/")
    changed = admin_client.post(f"{page}change/", FORM | {"urn": BASIC})
    deleted = admin_client.post(f"{page}delete/", {"post": "yes"})
    on_list = admin_client.post(
        ADMIN, {"action": "delete_selected", "_selected_action": [BASIC], "post": "yes"}
    )

    assert shown.status_code == 200
    assert b'name="_save"' not in shown.content
    assert (changed.status_code, deleted.status_code) == (403, 403)
    assert on_list.status_code in (200, 302)
    assert basic().record == THE_BASIC_SCOPE


# --- Other scopes -------------------------------------------------------------------------------------------


def test_a_row_that_breaks_a_rule_is_not_saved() -> None:
    with pytest.raises(ScopeError):
        Scope(urn=URN, title="x", required_claims=["shoe_size"]).save()
    with pytest.raises(ValidationError, match="must name claims"):
        new_scope(required_claims=["shoe_size"])
    with pytest.raises(ValidationError, match="ends with the same part"):
        new_scope(urn="urn:example:other:basic")
    with pytest.raises(IntegrityError):
        Scope(urn="urn:example:other:basic", title="x", required_claims=["email"]).save()


def page_of(urn: str) -> str:
    return f"{ADMIN}{urn.replace(':', '_3A')}/"


def test_an_operator_adds_changes_and_deletes_a_scope_and_the_history_says_so(admin_client: Client) -> None:
    assert admin_client.post(f"{ADMIN}add/", FORM).status_code == 302
    admin_client.post(f"{page_of(URN)}change/", FORM | {"title": "Someone", "urn": "urn:example:else"})

    assert Scope.objects.get(urn=URN).title == "Someone"
    assert not Scope.objects.filter(urn="urn:example:else").exists()
    assert "Someone" in admin_client.get(ADMIN).content.decode()
    assert "title" in admin_client.get(f"{page_of(URN)}history/").content.decode().lower()

    admin_client.post(f"{page_of(URN)}delete/", {"post": "yes"})
    assert not Scope.objects.filter(urn=URN).exists()
    assert list(LogEntry.objects.order_by("id").values_list("action_flag", flat=True)) == [1, 2, 3]


@pytest.mark.parametrize(
    "changes",
    [
        {"urn": "not a urn"},
        {"urn": "urn:example:basic"},
        {"title": ""},
        {"required_claims": []},
        {"required_claims": ["shoe_size"]},
        {"optional_claims": ["given_name"]},
    ],
)
def test_a_wrong_form_is_shown_again_with_what_is_wrong(
    admin_client: Client, changes: dict[str, Any]
) -> None:
    shown = admin_client.post(f"{ADMIN}add/", FORM | changes)

    assert shown.status_code == 200
    assert "errorlist" in shown.content.decode()
    assert not Scope.objects.filter(title="Person").exists()


def test_a_scope_in_use_cannot_be_deleted_and_its_page_says_who_uses_it(
    admin_client: Client, acme_bank: RelyingParty
) -> None:
    new_scope()
    acme_bank.allowed_scopes = [URN]
    acme_bank.save()

    shown = admin_client.get(f"{page_of(URN)}change/").content.decode()
    refused = admin_client.post(f"{page_of(URN)}delete/", {"post": "yes"})

    assert "Acme Bank. While a relying party may request it, it cannot be deleted." in shown
    assert refused.status_code == 403
    assert Scope.objects.filter(urn=URN).exists()


# --- Who follows the records --------------------------------------------------------------------------------


def test_forms_and_rules_of_relying_parties_follow_the_records(acme_bank: RelyingParty) -> None:
    new_scope()

    assert URN in dict(RelyingPartyForm().fields["allowed_scopes"].choices)  # type: ignore[attr-defined]
    acme_bank.allowed_scopes = [URN]
    acme_bank.full_clean()
    assert acme_bank.claims_it_may_ask(catalogue.current()) == {("given_name",), ("birth_date",)}
    acme_bank.allowed_scopes = ["urn:example:gone"]
    with pytest.raises(ValidationError, match="urn:example:gone"):
        acme_bank.full_clean()


def test_discovery_lists_the_scopes(settings: Any) -> None:
    new_scope()

    assert f'"{URN}"' in discovery_document().decode()


def test_a_changed_scope_counts_from_the_next_request_on_in_every_process(
    client: Client, acme_bank: RelyingParty
) -> None:
    acme_bank.allowed_scopes = [URN, BASIC]
    acme_bank.save()

    def error(nonce: str) -> str | None:
        location = client.get(PATH, asked(acme_bank, scope=URN, nonce=nonce)).headers["Location"]
        return fragment(location).get("error") if "#" in location else None

    assert error("first-fresh-nonce") == "invalid_scope"
    scope = new_scope()  # as another process would: nothing tells this one
    assert error("second-fresh-nonce") is None
    scope.delete()
    assert error("third-fresh-nonce") == "invalid_scope"


def test_the_memory_is_read_only_when_the_stamps_changed(statements: Any) -> None:
    scope = new_scope()
    stamp = catalogue.stamp()
    catalogue.at(stamp)

    with statements() as again:
        assert URN in catalogue.at(stamp)
    assert again.texts == []
    scope.save()
    assert catalogue.stamp() != stamp


def test_a_row_that_no_longer_keeps_the_rules_is_no_scope_and_is_logged(
    logged: list[dict[str, Any]],
) -> None:
    new_scope()
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE presentation_scope SET required_claims = '[\"shoe_size\"]' WHERE urn = %s", [URN]
        )

    assert URN not in catalogue.current()
    assert [event["event"] for event in logged] == ["scope_not_usable"]


# --- Questions ----------------------------------------------------------------------------------------------


def test_operators_make_scopes_of_questions_and_read_them_again(admin_client: Client) -> None:
    form = FORM | {
        "required_claims": [],
        "required_questions": "age_equal_or_over.16  nationality_in.CH-EEA",
        "optional_questions": "nationality_in.ES",
    }

    added = admin_client.post(f"{ADMIN}add/", form)
    scope = Scope.objects.get(urn=URN)
    page = admin_client.get(f"{ADMIN}{URN.replace(':', '_3A')}/change/").content.decode()

    assert added.status_code == 302
    assert scope.required_claims == ["age_equal_or_over.16", "nationality_in.CH-EEA"]
    assert scope.optional_claims == ["birth_date", "nationality_in.ES"]
    assert 'value="age_equal_or_over.16 nationality_in.CH-EEA"' in page
    assert 'value="nationality_in.ES"' in page


@pytest.mark.parametrize(
    "questions", ["age_equal_or_over.121", "nationality_in.EU, nationality_in.ES", "<b>"]
)
def test_a_question_that_there_is_not_is_refused_by_name(admin_client: Client, questions: str) -> None:
    answer = admin_client.post(f"{ADMIN}add/", FORM | {"required_questions": questions})

    assert "must name claims" in answer.content.decode()
    assert not Scope.objects.filter(urn=URN).exists()
