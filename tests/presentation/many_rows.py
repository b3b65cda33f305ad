"""Fills the tables that `clear_expired` clears, by SQL, with any number of rows that stay or that are due."""

from typing import Any

from django.apps import apps
from django.db import connection, models

DUE = "now() - interval '12 years'"
STAYS = "now() + interval '1 day'"
LONG_AGO = "now() - interval '20 days'"
# Tables in an order in which each follows those it refers to, with the columns whose values matter. {time} is
# the moment that decides whether a row is due. Row number n of a table refers to row number n of another.
TABLES: dict[str, dict[str, str]] = {
    "wallet.Wallet": {"state": "'active'", "email": "g || '@example.org'", "created_at": LONG_AGO},
    "wallet.RedirectTask": {"expires_at": "{time}"},
    "wallet.IdentityVerification": {"state": "'declined'", "changed_at": "least({time}, now())"},
    "wallet.IdentityEvidence": {},
    "wallet.Picture": {"kind": "'front'", "uploaded_at": LONG_AGO},
    "wallet.Credential": {"state": "'valid'", "expires_at": "{time}", "erased_at": "NULL"},
    "wallet.StatusEntry": {
        "status": "0",
        "expires_at": "{time}",
        "idx": "g",
        "status_list_id": "1",
        "reference": "NULL",
        "credential_id": "md5('wallet_credential' || g)::uuid",
        "signing_key_id": "gen_random_uuid()",
    },
    "wallet.HolderSession": {"expires_at": "{time}"},
    "wallet.LoginLink": {"expires_at": "{time}"},
    "wallet.KnownBrowser": {"expires_at": "{time}"},
    "wallet.EmailChange": {"expires_at": "{time}"},
    "wallet.FormerAddress": {"expires_at": "{time}"},
    "wallet.Recovery": {"state": "'moved'", "asked_at": LONG_AGO, "ended_at": "{time}"},
    "wallet.StopLink": {"expires_at": "{time}"},
    "wallet.PasskeyChallenge": {"expires_at": "{time}"},
    "infra.Allowance": {"expires_at": "{time}"},
    "presentation.UsedAssertion": {"expires_at": "{time}"},
    "presentation.PushedRequest": {"expires_at": "{time}"},
    "presentation.WebhookSecret": {"ends_at": "{time}", "relying_party_id": "{party}"},
    "presentation.WebhookEvent": {
        "state": "'delivered'",
        "type": "'presentation.completed'",
        "created_at": "{time}",
        "relying_party_id": "{party}",
    },
    "sessions.Session": {"expire_date": "{time}"},
    "sandbox.PlaygroundAnswer": {"expires_at": "{time}"},
    # Of those that are due, every other was never answered; the others have old transactions.
    "consent.Consent": {
        "decision": "CASE WHEN {due} AND g % 2 = 0 THEN 'asked' ELSE 'granted' END",
        "expires_at": "{time}",
        "decided_at": "CASE WHEN {due} AND g % 2 = 0 THEN NULL ELSE now() END",
        "asked_at": "{time}",
        "sealed_transactions": r"'\x01'",
        "undelivered_at": "NULL",
        "erased_at": "NULL",
    },
    # What stays gave a token a month ago.
    "presentation.Interaction": {
        "outcome": "CASE WHEN {due} THEN 'error' ELSE 'token' END",
        "answered_at": "now()",
        "expires_at": f"least({{time}}, {LONG_AGO})",
        "relying_party_id": "{party}",
        "redirect_uri": "'https://rp.example/'",
        "response_uri": "''",
        "consent_id": "CASE WHEN {due} THEN NULL ELSE md5('consent_consent' || g)::uuid END",
    },
    "presentation.Delivery": {
        "expires_at": f"least({{time}}, {LONG_AGO})",
        "sealed_body": r"CASE WHEN {due} THEN '\x01'::bytea ELSE ''::bytea END",
        "sealed_onward": "''",
        "delivered_at": "NULL",
    },
}


def fill(first: int, last: int, *, due: bool, party: int) -> None:
    """Inserts rows number `first` to `last` into every table; they are due or stay."""
    values = {"time": DUE if due else STAYS, "due": str(due), "party": str(party)}
    with connection.cursor() as cursor:
        for label, columns in TABLES.items():
            model = apps.get_model(label)
            found = {
                field.column: columns.get(field.column, _any(field)).format(**values)
                for field in model._meta.concrete_fields
            }
            cursor.execute(
                f'INSERT INTO "{model._meta.db_table}" ({", ".join(found)}) '  # noqa: S608
                f"SELECT {', '.join(found.values())} FROM generate_series({first}, {last}) g"
            )
        cursor.execute("ANALYZE")


def _any(field: Any) -> str:
    """A value of the field's type; keys and foreign keys follow from the number of the row."""
    if field.primary_key or (field.is_relation and not field.null):
        return _key(field)
    if field.null:
        return "NULL"
    if isinstance(field, models.UUIDField):
        return "gen_random_uuid()"
    if isinstance(field, models.CharField | models.TextField):
        return f"left(md5('{field.column}' || g) || md5(g::text), {field.max_length or 64})"
    return next(value for kind, value in _VALUES if isinstance(field, kind))


def _key(field: Any) -> str:
    while field.is_relation:
        field = field.target_field
    table = field.model._meta.db_table
    if isinstance(field, models.UUIDField):
        return f"md5('{table}' || g)::uuid"
    if isinstance(field, models.CharField):
        return f"left(md5('{table}' || g) || md5(g::text), {field.max_length})"
    return "1000000 + g"


_VALUES = (
    (models.DateTimeField, "now()"),
    (models.DateField, "current_date"),
    (models.BooleanField, "false"),
    (models.JSONField, "'[]'::jsonb"),
    (models.BinaryField, r"'\x01'::bytea"),
    (models.IntegerField, "1"),
)
