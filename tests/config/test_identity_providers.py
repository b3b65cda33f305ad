"""The identity providers that environment variables name: read strictly, and no value in any complaint."""

import os
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.identity_providers import from_environment


@pytest.fixture
def variables(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment that says nothing of identities yet."""
    for name in os.environ:
        if name.startswith("IDENTITY_"):
            monkeypatch.delenv(name)
    return monkeypatch


def test_without_variables_there_is_the_default(variables: pytest.MonkeyPatch) -> None:
    assert from_environment("in_person") == {"in_person": {}}


def test_providers_keep_their_order_and_get_the_variables_with_their_name(
    variables: pytest.MonkeyPatch,
) -> None:
    variables.setenv("IDENTITY_PROVIDERS", "stripe,my_bank,in_person")
    variables.setenv("IDENTITY_MY_BANK_TYPE", "openid_connect")
    variables.setenv("IDENTITY_MY_BANK_CLIENT_ID", "us")
    variables.setenv("IDENTITY_STRIPE_KEY", "rk_1")
    variables.setenv("IDENTITY_VALIDITY_DAYS", "3")  # of no provider
    found = from_environment("in_person")
    assert list(found) == ["stripe", "my_bank", "in_person"]
    assert found["my_bank"] == {"type": "openid_connect", "client_id": "us"}
    assert found["stripe"] == {"key": "rk_1"}
    assert found["in_person"] == {}


def test_an_empty_variable_counts_as_not_set(variables: pytest.MonkeyPatch) -> None:
    variables.setenv("IDENTITY_IN_PERSON_PLACE", "")
    assert from_environment("in_person") == {"in_person": {}}


def test_a_secret_can_come_from_a_file(variables: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s3cret\n")
    variables.setenv("IDENTITY_BANK_SECRET_FILE", str(tmp_path / "secret"))
    assert from_environment("bank") == {"bank": {"secret": "s3cret"}}


def test_a_value_and_a_file_with_the_value_are_one_too_many(
    variables: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    variables.setenv("IDENTITY_BANK_SECRET_FILE", str(tmp_path / "secret"))
    variables.setenv("IDENTITY_BANK_SECRET", "s3cret")
    with pytest.raises(ImproperlyConfigured, match="are both set") as refused:
        from_environment("bank")
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_file_that_cannot_be_read_is_named(
    variables: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / "secret").write_bytes(content)
    variables.setenv("IDENTITY_BANK_SECRET_FILE", str(tmp_path / "secret"))
    with pytest.raises(ImproperlyConfigured, match="IDENTITY_BANK_SECRET_FILE is not the path"):
        from_environment("bank")


@pytest.mark.parametrize(
    "names", ["bank,bank", "Bank", "bank-id", "1bank", "b" * 31, "bank,bank_id", "ba nk", " bank", "bänk"]
)
def test_names_that_could_be_taken_for_others_are_refused(variables: pytest.MonkeyPatch, names: str) -> None:
    variables.setenv("IDENTITY_PROVIDERS", names)
    with pytest.raises(ImproperlyConfigured, match="IDENTITY_PROVIDERS"):
        from_environment("in_person")


def test_the_variable_of_earlier_releases_is_not_overlooked(variables: pytest.MonkeyPatch) -> None:
    variables.setenv("IDENTITY_PROVIDER", "some.Class")
    with pytest.raises(ImproperlyConfigured, match="is IDENTITY_PROVIDERS now"):
        from_environment("in_person")
