"""A variable of an earlier release is refused by name, with what to do instead."""

import os

import pytest
from django.core.exceptions import ImproperlyConfigured

from config import retired

OLD = {
    "SIGN_IN_EMAILS_PER_CLIENT": "REQUESTS_PER_CLIENT",
    "SIGN_IN_WRONG_CODES_PER_CLIENT": "REQUESTS_PER_CLIENT",
    "SIGN_IN_CODES_PER_ADDRESS": "LIMITS",
    "LIMIT_CODES_PER_ADDRESS_AND_DAY": "LIMITS",
    "LIMIT_OPERATOR_TRIES_PER_CLIENT": "LIMITS",
    "LIMIT_SECOND_FACTOR_TRIES": "LIMITS",
    "LIMIT_SECOND_FACTOR_TRIES_PER_DAY": "LIMITS",
    "LIMIT_HOLDER_CALLS_PER_CLIENT": "LIMITS",
    "LIMIT_TOKEN_REQUESTS_PER_CLIENT": "CALLS_PER_RELYING_PARTY",
    "LIMIT_PUSHES_PER_CLIENT": "CALLS_PER_RELYING_PARTY",
    "LIMIT_OUTCOMES_PER_RELYING_PARTY": "CALLS_PER_RELYING_PARTY",
    "DATABASE_LOCK_TIMEOUT": "DATABASE_ANSWER_TIMEOUT",
    "DATABASE_STATEMENT_TIMEOUT": "DATABASE_ANSWER_TIMEOUT",
    "DATABASE_CONNECT_TIMEOUT": "?connect_timeout=…",
    "DATABASE_CONN_MAX_AGE": "?conn_max_age=…",
    "IDENTITY_PROVIDER": "IDENTITY_PROVIDERS_FILE",
    "IDENTITY_PROVIDERS": "IDENTITY_PROVIDERS_FILE",
    "IDENTITY_IN_PERSON_PLACE": "IDENTITY_PROVIDERS_FILE",
    "SINGLE_SIGN_ON_ISSUER": "SINGLE_SIGN_ON_FILE",
    "SINGLE_SIGN_ON_CLIENT_SECRET_FILE": "SINGLE_SIGN_ON_FILE",
    "SECURE_SSL_REDIRECT": "X-Forwarded-Proto",
    "SECURE_HSTS_SECONDS": "constant",
    "SECURE_HSTS_PRELOAD": "proxy",
    "SIGNING_KEY_STAGED_HOURS": "constant",
    "OPERATOR_SECOND_FACTOR": "constant",
    "METRICS_DIRECTORY": "RUNTIME_DIRECTORY",
    "BIND": "--bind",
    "FORWARDED_ALLOW_IPS": "TRUSTED_PROXY_COUNT",
    "LEGACY_ASSERTION_AUDIENCES": "relying parties",
}


@pytest.mark.parametrize("name", OLD)
def test_a_variable_that_is_gone_is_refused_by_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "hidden")

    with pytest.raises(ImproperlyConfigured) as refused:
        retired.refuse()

    [sentence] = str(refused.value).removeprefix("Remove these variables. ").splitlines()
    assert sentence.startswith(f"{name}: ")
    assert OLD[name] in sentence
    assert "hidden" not in sentence


def test_all_of_them_are_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in OLD:
        monkeypatch.setenv(name, "in_person")

    with pytest.raises(ImproperlyConfigured) as refused:
        retired.refuse()

    assert all(f" {name}: " in str(refused.value) for name in OLD)


def test_the_variables_of_each_provider_that_the_old_list_names_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("IDENTITY_PROVIDERS", "bank,stripe")
    monkeypatch.setenv("IDENTITY_BANK_CLIENT_SECRET", "hidden")

    with pytest.raises(ImproperlyConfigured, match="IDENTITY_BANK_CLIENT_SECRET: write"):
        retired.refuse()


@pytest.mark.parametrize(
    "name",
    [
        *("IDENTITY_PROVIDERS_FILE", "IDENTITY_VALIDITY_DAYS", "IDENTITY_KEPT_DAYS", "SINGLE_SIGN_ON_FILE"),
        *("REQUESTS_PER_CLIENT", "DATABASE_ANSWER_TIMEOUT", "SECURE_HSTS_INCLUDE_SUBDOMAINS"),
        *("LIMIT_CPU", "IDENTITY_ENDPOINT", "IDENTITY_HEADER"),  # of other programs
    ],
)
def test_a_variable_of_today_or_of_another_program_does_not_stop_the_start(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "1")

    retired.refuse()


def test_an_empty_one_counts_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIND", "")

    retired.refuse()
    assert "BIND" in os.environ
