"""The registry of stored data lists every column."""

from collections import Counter
from datetime import datetime, timedelta
from itertools import islice

import pytest
from django.apps import apps
from django.db import DatabaseError, connection, models
from django.db.models import Q
from django.test import Client
from django.utils import timezone

from infra import retention
from infra.models import Allowance
from presentation.models import RelyingParty
from tests.failing_rows import refusing
from tests.personal_data import TRANSACTION_DATA
from tests.presentation.requests.deciding import SignIn, ask, decide
from tests.stored_columns import columns_that_hold
from wallet.models import Wallet

# Columns that can hold any text and say nothing about a person.
STATES = "a state, a kind or a code from a fixed list"
REGISTERED = "what a relying party registered about itself as an organisation"
KEY = "a key or certificate of the service, or a secret of a relying party"
CLAIMS = "names of claims and scopes, for all relying parties"
PERMISSIONS = "names of permissions and roles"
IMPERSONAL = {
    "auth.Group": {"name": PERMISSIONS},
    "auth.Permission": {"name": PERMISSIONS, "codename": PERMISSIONS},
    "contenttypes.ContentType": {"app_label": PERMISSIONS, "model": PERMISSIONS},
    "keys.Authority": dict.fromkeys(
        ("root_pem", "issuing_pem", "sealed_root_key", "sealed_issuing_key"), KEY
    ),
    "infra.DatabaseMark": {"environment": STATES},
    "infra.Diagnosis": {"name": STATES, **dict.fromkeys(("seen", "todo"), "sentences about the service")},
    "infra.OutgoingEmail": {"state": STATES},
    "infra.LastRun": {"command": STATES},
    "infra.ToldFinding": {"name": STATES},
    "infra.Total": {"name": STATES},
    "infra.SecondFactorReset": {"digest": "a digest of a code"},
    "keys.KeyEvent": {"action": STATES},
    **dict.fromkeys(
        ("keys.SigningKey", "keys.StatementKey", "keys.IdTokenKey"),
        {
            **dict.fromkeys(("sealed_private_key", "public_key", "chain_pem"), KEY),
            **dict.fromkeys(("state", "store"), STATES),
        },
    ),
    "presentation.ClientSecret": {"digest": KEY},
    "presentation.Interaction": {"outcome": STATES, "error": STATES, "scopes": CLAIMS},
    "presentation.Scope": dict.fromkeys(
        ("urn", "query_id", "title", "required_claims", "optional_claims"), CLAIMS
    ),
    "presentation.PushedRequest": {"digest": "the digest of a random handle", "client_id": REGISTERED},
    "presentation.CertifiedClientID": dict.fromkeys(("client_id", "certificates"), REGISTERED),
    "presentation.RedirectURI": {"uri": REGISTERED},
    "presentation.ResponseURI": {"uri": REGISTERED},
    "presentation.RelyingParty": {
        **dict.fromkeys(
            (
                *("client_id", "sector", "name", "logo", "purpose", "privacy_policy_url", "terms_url"),
                "initiate_login_uri",
                *("allowed_scopes", "allowed_claims", "allowed_transaction_data_types", "wire_format"),
                *("minimum_assurance", "id_token_signed_response_alg"),
                *("request_uri_prefix", "grants", "jwks", "jwks_uri", "webhook_url", "webhook_events"),
            ),
            REGISTERED,
        ),
        "state": STATES,
    },
    "presentation.WebhookEndpoint": {"gone_url": REGISTERED},
    "presentation.WebhookEvent": {"type": STATES, "state": STATES},
    "sandbox.PickedOutcome": {"outcome": STATES},
    "sandbox.LoggedStep": {
        "route": STATES,
        "method": STATES,
        "reference": "a random number of the HTTP request",
    },
    "wallet.Credential": {"state": STATES, "notice": STATES},
    "wallet.IdentityVerification": {"state": STATES, "notice_due": STATES},
    "wallet.IdentityVerificationTransition": {"from_state": STATES, "to_state": STATES},
    "wallet.PasskeyChallenge": {"purpose": STATES},
    "wallet.Recovery": {"state": STATES},
    "wallet.StatusEvent": {"action": STATES, "subject": STATES},
    "wallet.StatusList": {"content": "the digest of a list of numbers"},
    "wallet.Wallet": {"state": STATES},
}
TEXTS = (models.CharField, models.TextField, models.JSONField, models.BinaryField)


def with_an_entry() -> set[tuple[str, str]]:
    return {(entry.model, column) for entry in retention.entries() for column in entry.columns}


def test_entries_name_columns_that_exist() -> None:
    for entry in retention.entries():
        names = {field.name for field in apps.get_model(entry.model)._meta.concrete_fields}
        assert set(entry.columns) <= names, entry.what


def test_every_column_that_can_hold_text_has_an_entry_or_a_reason() -> None:
    unexplained = {
        (model._meta.label, field.name)
        for model in apps.get_models()
        for field in model._meta.concrete_fields
        if isinstance(field, TEXTS) and field.name not in IMPERSONAL.get(model._meta.label, {})
    }
    assert unexplained - with_an_entry() == set()


def test_no_reason_is_given_for_a_column_with_an_entry_or_for_none_at_all() -> None:
    explained = {(label, name) for label, names in IMPERSONAL.items() for name in names}
    columns = {(m._meta.label, f.name) for m in apps.get_models() for f in m._meta.concrete_fields}

    assert explained & with_an_entry() == set()
    assert explained - columns == set()


def test_every_model_is_cleared_by_one_entry_at_most_for_each_part_of_it() -> None:
    cleared = Counter(entry.clear for entry in retention.entries() if entry.clear)

    assert len(cleared) > 12
    assert set(cleared.values()) == {1}


def test_what_is_cleared_has_a_name_and_nothing_else_has() -> None:
    assert {
        entry.what for entry in retention.entries() if bool(entry.clear) != bool(entry.cleared_as)
    } == set()


# --- The content of the columns -------------------------------------------------------------------------


@pytest.mark.usefixtures("signing_key")
@pytest.mark.django_db
def test_data_of_a_holder_is_only_in_columns_with_an_entry(
    client: Client,
    alice: Wallet,
    bank: RelyingParty,
    sign_in: SignIn,
) -> None:
    ask(client, bank, transaction_data=TRANSACTION_DATA, nonce="a-nonce-of-somebody-to-sign-in")
    sign_in(alice)
    client.get(decide(client, ask(client, bank, transaction_data=TRANSACTION_DATA)))
    open_page = ask(client, bank, transaction_data=TRANSACTION_DATA, nonce="a-nonce-of-an-open-request")
    assert client.get(open_page).status_code == 200

    found = columns_that_hold(alice.email)

    expected = {("wallet.Wallet", "email"), ("presentation.Interaction", "parameters")}
    assert expected <= found
    assert found <= with_an_entry()
    for name in ("Alice", "Archer", "1990-04-01"):
        assert columns_that_hold(name) <= with_an_entry()


# --- Clearing -------------------------------------------------------------------------------------------


def many_allowances(count: int, *, at: datetime, used: int = 1) -> None:
    Allowance.objects.bulk_create(
        Allowance(key=f"{used}-{at:%f}-{number:04}", count=used, expires_at=at) for number in range(count)
    )


@pytest.mark.django_db
def test_clearing_goes_on_after_the_rows_that_one_query_finds_also_among_rows_of_one_moment() -> None:
    now = timezone.now().replace(microsecond=500)
    many_allowances(retention.PAGES + 30, at=now - timedelta(microseconds=1))
    many_allowances(retention.PAGES + 30, at=now)
    many_allowances(3, at=now + timedelta(microseconds=1))

    cleared = retention.expired(Allowance.objects.all())(now=now, batch=1)

    assert cleared == 2 * retention.PAGES + 60
    assert Allowance.objects.count() == 3


@pytest.mark.django_db
def test_rows_that_have_to_stay_are_neither_deleted_nor_in_the_way_of_the_others() -> None:
    now = timezone.now().replace(microsecond=500)
    many_allowances(retention.PAGES + 30, at=now - timedelta(microseconds=1), used=2)
    many_allowances(5, at=now)

    deleted = retention.delete(Allowance.objects.all(), by="expires_at", batch=1, where=Q(count=1))

    assert deleted == 5
    assert set(Allowance.objects.values_list("count", flat=True)) == {2}
    assert Allowance.objects.count() == retention.PAGES + 30


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("batch", [1, 4, 100])
def test_a_row_that_cannot_be_deleted_keeps_no_other(batch: int) -> None:
    now = timezone.now()
    many_allowances(9, at=now - timedelta(microseconds=1))
    damaged = Allowance.objects.earliest("expires_at", "pk")

    with refusing(damaged), pytest.raises(DatabaseError):
        retention.expired(Allowance.objects.all())(now=now, batch=batch)

    assert [row.pk for row in Allowance.objects.all()] == [damaged.pk]


@pytest.mark.skipif(connection.vendor != "sqlite", reason="only SQLite stores times as texts")
@pytest.mark.django_db
def test_clearing_ends_although_a_time_is_stored_in_another_form() -> None:
    with connection.cursor() as cursor:  # version 0.2 stored the ends of limits like this
        values = "('a', 1, '2026-03-01 12:10:00+00:00')"
        cursor.execute(f"INSERT INTO wallet_allowance (key, count, expires_at) VALUES {values}")  # noqa: S608
    pages = retention.pages(Allowance.objects.all(), by="expires_at", batch=1)
    assert len(list(islice(pages, 5))) == 1
