"""The files of identity providers and of single sign-on: read strictly, and no value in any complaint."""

from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from hypothesis import example, given
from hypothesis import strategies as st

from config import option_files

PROVIDERS, SINGLE = "IDENTITY_PROVIDERS_FILE", "SINGLE_SIGN_ON_FILE"
Write = Callable[[str, str | bytes], None]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes the file of a variable, which names it then."""

    def written(variable: str, content: str | bytes) -> None:
        path = tmp_path / f"{variable}.toml"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        monkeypatch.setenv(variable, str(path))

    monkeypatch.delenv(PROVIDERS, raising=False)
    monkeypatch.delenv(SINGLE, raising=False)
    return written


@pytest.mark.usefixtures("write")
def test_without_files_there_is_the_default_and_no_single_sign_on() -> None:
    assert option_files.identity_providers("in_person") == {"in_person": {}}
    assert option_files.single_sign_on() == {}


def test_providers_keep_their_order_and_what_is_written_is_read_as_text(write: Write) -> None:
    write(
        PROVIDERS,
        """
        [stripe]
        key = "rk_1"
        live_capture = false
        [my_bank]
        type = "openid_connect"
        label = "Banco Ñ"
        pushed = true
        longest = 30
        [in_person]
        """,
    )

    found = option_files.identity_providers("in_person")

    assert list(found.items()) == [
        ("stripe", {"key": "rk_1", "live_capture": "false"}),
        ("my_bank", {"type": "openid_connect", "label": "Banco Ñ", "pushed": "true", "longest": "30"}),
        ("in_person", {}),
    ]


def test_a_secret_can_come_from_a_file_of_its_own(write: Write, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s3cret\n")
    option = f'client_secret_file = "{tmp_path}/secret"'
    write(PROVIDERS, f"[bank]\n{option}")
    write(SINGLE, f'issuer = "https://idp.example"\n{option}')

    assert option_files.identity_providers("in_person") == {"bank": {"client_secret": "s3cret"}}
    assert option_files.single_sign_on() == {"issuer": "https://idp.example", "client_secret": "s3cret"}


def test_a_value_and_a_file_with_the_value_are_one_too_many(write: Write) -> None:
    write(PROVIDERS, '[bank]\nsecret = "s3cret"\nsecret_file = "/run/s3cret"')

    with pytest.raises(ImproperlyConfigured, match="bank.secret and secret_file are both set") as refused:
        option_files.identity_providers("in_person")
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_secret_file_that_cannot_be_read_is_named_by_its_option(
    write: Write, tmp_path: Path, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / "s3cret").write_bytes(content)
    write(SINGLE, f'client_secret_file = "{tmp_path}/s3cret"')

    with pytest.raises(
        ImproperlyConfigured, match=f"^{SINGLE}: client_secret_file is not the path"
    ) as refused:
        option_files.single_sign_on()
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("name", ["Bank", "bank-id", "1bank", "b" * 31, '"ba nk"', '""', '"bänk"'])
def test_a_name_that_no_address_can_have_is_refused(write: Write, name: str) -> None:
    write(PROVIDERS, f"[{name}]")

    with pytest.raises(ImproperlyConfigured, match="one table for each provider"):
        option_files.identity_providers("in_person")


@pytest.mark.parametrize("content", ["", 'type = "stripe"', '[bank]\n[[other]]\nkey = "s3cret"'])
def test_what_is_not_one_table_for_each_provider_is_refused(write: Write, content: str) -> None:
    write(PROVIDERS, content)

    with pytest.raises(ImproperlyConfigured, match="one table for each provider") as refused:
        option_files.identity_providers("in_person")
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("value", ["1.5", "2026-01-01", '["s3cret"]', '{s3cret = "s3cret"}'])
def test_an_option_that_is_no_text_number_or_switch_is_refused_by_name(write: Write, value: str) -> None:
    write(PROVIDERS, f"[bank]\nlabel = {value}")

    with pytest.raises(ImproperlyConfigured, match="bank.label must be a text, a whole number") as refused:
        option_files.identity_providers("in_person")
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    ("content", "where"),
    [
        ('[bank]\nkey = "s3cret', "see"),
        ("[bank]\nkey = s3cret", "see line 2"),
        ("[bank]\n[s3cret]\n[s3cret]", "see line 3"),
        ('[bank]\nkey = {s3cret = 1, s3cret = 2}\nother = "a"', "see line 2"),
        (b'[bank]\nkey = "\xff s3cret"', "see the end, or a character that is not UTF-8"),
    ],
)
def test_a_malformed_file_is_refused_and_never_printed(
    write: Write, content: str | bytes, where: str
) -> None:
    write(PROVIDERS, content)

    with pytest.raises(ImproperlyConfigured, match=f"^{PROVIDERS} is no TOML; {where}") as refused:
        option_files.identity_providers("in_person")
    assert "s3cret" not in str(refused.value)
    assert refused.value.__suppress_context__


@given(content=st.binary(max_size=60) | st.text("[]abk_=\"'{}.\n 1#", max_size=40).map(str.encode))
@example(content=b"[a]\nb = 1")
def test_whatever_the_file_holds_is_read_or_refused(
    content: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PROVIDERS, str(path))
        try:
            found = option_files.identity_providers("in_person")
        except ImproperlyConfigured:
            return
    assert found
    assert all(isinstance(value, str) for values in found.values() for value in values.values())
