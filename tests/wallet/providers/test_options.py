"""The settings of one provider: read strictly, named in complaints, and never repeated there."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wallet.credential.evidence import Assurance
from wallet.providers.options import OptionError, Options

SECRET = "do not repeat me"


def options(*, loopback: bool = False, **values: str) -> Options:
    return Options("bank.", values, own_framework="https://id.example/assurance", loopback=loopback)


def test_what_is_set_is_read_and_what_is_not_has_its_default() -> None:
    read = options(name=" Bank ", on="true", most="7", scopes="a, b  c", level="eidas high")
    assert read.text("name") == "Bank"
    assert read.text("other", "default") == "default"
    assert read.switch("on", default=False) is True
    assert read.switch("off", default=False) is False
    assert read.number("most", 3) == 7
    assert read.number("least", 3) == 3
    assert read.words("scopes") == ("a", "b", "c")
    assert read.assurance("level") == Assurance("eidas", "high")
    read.finish()


def test_what_is_required_must_be_set() -> None:
    for values in ({}, {"name": ""}, {"name": "  "}):
        with pytest.raises(OptionError, match=r"^bank\.name must be set\.$"):
            options(**values).text("name")


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (lambda o: o.choice("x", ("a", "b")), SECRET),
        (lambda o: o.switch("x", default=True), "yes"),
        (lambda o: o.number("x", 1, most=10), "11"),
        (lambda o: o.number("x", 1), "٣"),
        (lambda o: o.number("x", 1), "01"),
        (lambda o: o.number("x", 1), "-1"),
        (lambda o: o.address("x"), "http://bank.example"),
        (lambda o: o.address("x"), "https://user@bank.example"),
        (lambda o: o.address("x"), "https://bank.example/?a=b"),
        (lambda o: o.address("x"), "https://bank.example#a"),
        (lambda o: o.address("x"), "http://127.0.0.1:80"),
        (lambda o: o.address("x"), "javascript:alert(1)"),
        (lambda o: o.assurance("x"), "eidas high low"),
        (lambda o: o.file("x"), f"/nowhere/{SECRET}"),
        (lambda o: o.file("x"), "a\0b"),
    ],
)
def test_a_bad_value_is_refused_by_its_name(read: Any, value: str) -> None:
    with pytest.raises(OptionError, match="^bank.x must be ") as refused:
        read(options(x=value))
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]"])
def test_only_on_a_developers_machine_an_address_may_be_http_there(host: str) -> None:
    assert options(x=f"http://{host}:8000/a/", loopback=True).address("x") == f"http://{host}:8000/a"
    with pytest.raises(OptionError):
        options(x=f"http://{host}.evil.example", loopback=True).address("x")


def test_a_file_gives_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_bytes(b"\xff")
    assert options(x=str(tmp_path / "key.pem")).file("x") == b"\xff"


def test_a_setting_that_nobody_reads_is_named() -> None:
    read = options(name="Bank", nane="x", plaze="y")
    read.text("name")
    with pytest.raises(OptionError, match="^bank.nane, plaze: this provider has no"):
        read.finish()


@given(value=st.text(max_size=40))
def test_whatever_is_set_is_read_or_refused(value: str) -> None:
    for read in ("number", "address", "assurance", "switch", "choice", "file"):
        arguments: dict[str, Any] = {
            "number": {"default": 1},
            "switch": {"default": True},
            "choice": {"choices": ("a", "b")},
        }.get(read, {})
        with suppress(OptionError):
            getattr(options(x=value), read)("x", **arguments)
