"""Names that developers choose: ordinary ones are accepted, look-alikes of registered ones refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.characters import is_legible
from sandbox.self_service.assumed_names import MARK, marked, problem_with, unmarked
from sandbox.self_service.details import is_local, is_under

REGISTERED = ["Acme Bank", "Corner Shop", "IBM", "美咲銀行"]


@pytest.mark.parametrize(
    "name",
    [
        "My Shop",
        "Bäckerei Müller & Co.",
        "Ünïcode 2000",
        "Банк Тест",
        "תל אביב",
        "テスト銀行",
        "O’Neill + Sons",
    ],
)
def test_an_honest_name_may_be_had(name: str) -> None:
    assert problem_with(name, REGISTERED) is None


PRETENDERS = {
    "the same": "Acme Bank",
    "in capitals": "ACME BANK",
    "with something added": "Acme Bank Support",
    "without the space": "AcmeBank",
    "with digits": "Acm3 8ank",
    "with dots": "A.c.m.e. Bank",
    "with an accent": "Acmé Bank",
    "with a combining accent": "Acme\u0301 Bank",
    "in full width": "\uff21\uff43\uff4d\uff45 \uff22\uff41\uff4e\uff4b",
    "in bold": "\U0001d400\U0001d41c\U0001d426\U0001d41e \U0001d401\U0001d41a\U0001d427\U0001d424",
    "rn for m": "Acrne Bank",
    "a Cyrillic letter": "\u0410cme Bank",
    "Cyrillic that reads as Latin": "\u0421\u043erner Sho\u0440",
    "another's in another script": "美咲銀行 支店",
}


@pytest.mark.parametrize("pretender", PRETENDERS)
def test_a_name_that_could_be_taken_for_a_registered_one_is_refused(pretender: str) -> None:
    assert problem_with(PRETENDERS[pretender], REGISTERED)


@pytest.mark.parametrize(
    "name",
    [
        "Shop (verified)",
        "Shop\u202e",
        "Shop\u200b",
        "Shop\u3164",
        "Shop\u00ad",
        "Shop\ttab",
        "Shop ✓",
        "1234",
        "<b>Shop</b>",
        "S\u043fop",
        "x" * 61,
    ],
)
def test_signs_that_say_or_hide_something_are_refused(name: str) -> None:
    assert problem_with(name, [])


@given(st.text(max_size=70))
def test_whatever_is_accepted_can_be_seen_and_bears_its_mark(name: str) -> None:
    if problem_with(name, REGISTERED) is None:
        assert is_legible(name)
        assert marked(name).endswith(MARK)
        assert unmarked(marked(name)) == name
        assert "(" not in name


@pytest.mark.parametrize(
    ("uri", "local"),
    [
        ("http://127.0.0.1:5000/callback", True),
        ("http://localhost/callback", True),
        ("http://[::1]:80/", True),
        ("https://localhost:8443/", True),
        ("https://localhost.evil.example/", False),
        ("https://127.0.0.1.evil.example/", False),
        ("http://127.0.0.1@evil.example/", False),
        ("com.example.app:/callback", False),
        ("https://[broken", False),
    ],
)
def test_only_loopback_addresses_are_local(uri: str, local: bool) -> None:
    assert is_local(uri) is local


@pytest.mark.parametrize(
    ("uri", "own"),
    [
        ("https://shop.example/callback", True),
        ("https://staging.shop.example/callback", True),
        ("example.shop:/callback", True),
        ("example.shop.app:/callback", True),
        ("https://othershop.example/", False),
        ("https://shop.example.evil.example/", False),
        ("https://shop.example@evil.example/", False),
        ("https://example/", False),
        ("example.shopping:/callback", False),
        ("example.other:/callback", False),
    ],
)
def test_only_addresses_under_the_domain_belong_to_it(uri: str, own: bool) -> None:
    assert is_under(uri, "shop.example") is own
