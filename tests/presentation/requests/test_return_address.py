"""An answer goes to a registered address and nowhere else."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from presentation.errors import UntrustedRequestError
from presentation.requests.client import ReturnAddress, is_registered

REGISTERED = [
    "https://bank.example/callback",
    "https://bank.example/callback?lang=en&x=%2F",
    "com.example.bank:/callback",
    "http://127.0.0.1/callback",
    "http://[::1]:8400/callback?x=1",
    "http://localhost:3000/callback",
]


@pytest.mark.parametrize("uri", REGISTERED)
def test_a_registered_uri_is_a_return_address_as_it_stands(uri: str) -> None:
    address = ReturnAddress.registered(uri, REGISTERED, state="a b")

    assert (address.uri, address.state, address.response_mode) == (uri, "a b", "fragment")


@pytest.mark.parametrize(
    "uri",
    [
        "http://127.0.0.1:49152/callback",
        "http://127.0.0.1:1/callback",
        "http://127.0.0.1:65535/callback",
        "http://[::1]/callback?x=1",
        "http://[::1]:1/callback?x=1",
    ],
)
def test_the_port_of_a_literal_loopback_address_is_free(uri: str) -> None:
    assert ReturnAddress.registered(uri, REGISTERED).uri == uri


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "https://bank.example/callback/",
        "https://bank.example/callbac",
        "https://bank.example/callback?",
        "https://bank.example/callback#",
        "https://bank.example/callback#x",
        "https://bank.example/callback\n",
        " https://bank.example/callback",
        "https://bank.example:443/callback",
        "https://BANK.example/callback",
        "HTTPS://bank.example/callback",
        "http://bank.example/callback",
        "https://bank.example/callback?lang=en&x=%2f",
        "https://bank.example/callback?x=%2F&lang=en",
        "https://bank.example@evil.example/callback",
        "https://bank.example.evil.example/callback",
        "com.example.bank:/callback/",
        "com.example.bank://callback",
        "http://127.0.0.1:0/callback",
        "http://127.0.0.1:65536/callback",
        "http://127.0.0.1:080/callback",
        "http://127.0.0.1:/callback",
        "http://127.0.0.1:80/callback/",
        "http://127.0.0.1:80/other",
        "http://127.0.0.1:80/callback?x",
        "http://127.0.0.1:80/callback#x",
        "http://127.0.0.1:80\n/callback",
        "http://127.0.0.1:٣٠/callback",
        "http://127.0.0.1:80@evil.example/callback",
        "http://127.0.0.1.evil.example/callback",
        "http://127.0.0.2/callback",
        "http://127.1/callback",
        "http://2130706433/callback",
        "https://127.0.0.1:80/callback",
        "http://[::1]:8400/callback",
        "http://[0:0:0:0:0:0:0:1]/callback?x=1",
        "http://[::1]:80:90/callback?x=1",
        "http://localhost/callback",
        "http://localhost:3001/callback",
    ],
)
def test_anything_else_is_not(uri: str) -> None:
    with pytest.raises(UntrustedRequestError):
        ReturnAddress.registered(uri, REGISTERED)


_without_port = re.compile(r"^(http://(?:127\.0\.0\.1|\[::1\]))(?::[0-9]+)?(?=[/?]|\Z)")
uris = st.one_of(
    st.sampled_from(REGISTERED),
    st.text(),
    st.builds("{}{}".format, st.sampled_from(REGISTERED), st.text(max_size=3)),
    st.builds(
        "http://{}:{}{}".format,
        st.sampled_from(["127.0.0.1", "[::1]", "localhost", "127.0.0.2"]),
        st.integers(min_value=-1, max_value=70000),
        st.sampled_from(["/callback", "/callback?x=1", "", "/", "@evil.example/callback"]),
    ),
)


@given(uris, st.lists(st.sampled_from(REGISTERED)))
def test_never_a_string_that_was_not_registered_save_the_loopback_port(
    uri: str, registered: list[str]
) -> None:
    if is_registered(uri, registered) and uri not in registered:
        bare = _without_port.sub(r"\1", uri)
        assert bare != uri or _without_port.match(uri)
        assert bare in {_without_port.sub(r"\1", other) for other in registered if _without_port.match(other)}


@given(uris)
def test_without_registrations_there_is_no_address(uri: str) -> None:
    assert not is_registered(uri, [])


@given(st.text(), st.text())
def test_two_different_texts_are_never_the_same_address(uri: str, registered: str) -> None:
    assume(uri != registered)
    assert not is_registered(uri, [registered])


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("https://bank.example/callback", "bank.example"),
        ("https://bank.example:8443/callback", "bank.example"),
        ("http://127.0.0.1:5000/", "127.0.0.1"),
        ("com.example.bank:/callback", "com.example.bank"),
    ],
)
def test_the_destination_is_shown_in_short(uri: str, shown: str) -> None:
    assert ReturnAddress(uri).destination == shown
