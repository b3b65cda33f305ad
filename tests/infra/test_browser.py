"""The secret and the address of a browser: no input of a client breaks or deceives it."""

import hashlib

import pytest
from django.conf import settings
from django.http import HttpResponse
from django.test import RequestFactory
from hypothesis import given
from hypothesis import strategies as st

from infra import browser

SECRET = "s" * 43
NODES = ["203.0.113.9", "", "unknown", "_hidden", '"[2001:db8::1]:4711"', "for=203.0.113.9;proto=https"]


def request_with(cookie: str | None = None, **meta):
    request = RequestFactory().get("/", **meta)
    if cookie is not None:
        request.COOKIES[settings.BROWSER_COOKIE_NAME] = cookie
    return request


def test_a_browser_without_a_cookie_has_no_digest_and_gets_a_new_secret_each_time():
    first, digest = browser.ensure(request_with())
    assert browser.digest(request_with()) is None
    assert digest == hashlib.sha256(first.encode()).hexdigest()
    assert first != browser.ensure(request_with())[0]


def test_a_browser_keeps_its_secret():
    assert browser.ensure(request_with(SECRET))[0] == SECRET
    assert browser.digest(request_with(SECRET)) == hashlib.sha256(SECRET.encode()).hexdigest()


@given(st.text(max_size=200).filter(lambda text: len(text) != 43))
def test_a_cookie_of_another_shape_is_none_of_ours(cookie):
    assert browser.digest(request_with(cookie)) is None
    assert browser.ensure(request_with(cookie))[0] != cookie


def test_the_cookie_cannot_be_read_by_scripts_nor_sent_along_by_other_sites_posts():
    response = HttpResponse()
    browser.remember(response, SECRET)
    cookie = response.cookies[settings.BROWSER_COOKIE_NAME]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
    assert cookie["path"] == "/"
    assert cookie["max-age"] == 180 * 24 * 3600


@pytest.mark.parametrize(
    ("proxies", "forwarded", "address"),
    [
        (0, "203.0.113.9", "192.0.2.1"),
        (1, "203.0.113.9", "203.0.113.9"),
        (1, "198.51.100.7, 203.0.113.9", "203.0.113.9"),
        (2, "198.51.100.7, 203.0.113.9", "198.51.100.7"),
        (2, "6.6.6.6, 198.51.100.7, 203.0.113.9", "198.51.100.7"),
        (2, "203.0.113.9", None),
        (1, "", None),
        (1, "6.6.6.6,", None),
        (2, "6.6.6.6, , 203.0.113.9", None),
        (1, "6.6.6.6, unknown", None),
        (1, "6.6.6.6, _hidden", None),
        (1, '"6.6.6.6, 203.0.113.9', "203.0.113.9"),
    ],
)
def test_forwarded_addresses_are_believed_as_far_as_our_proxies_wrote_them(
    settings, proxies, forwarded, address
):
    settings.TRUSTED_PROXY_COUNT = proxies
    request = request_with(REMOTE_ADDR="192.0.2.1", HTTP_X_FORWARDED_FOR=forwarded)
    assert browser.address(request) == address


@pytest.mark.parametrize("proxies", [1, 2, 20])
def test_a_request_that_came_past_the_proxies_has_no_address(settings, proxies):
    settings.TRUSTED_PROXY_COUNT = proxies
    assert browser.address(request_with(REMOTE_ADDR="192.0.2.1", HTTP_FORWARDED="for=6.6.6.6")) is None


def test_a_server_on_a_socket_file_knows_no_address():
    assert browser.address(request_with(REMOTE_ADDR="")) is None


def client_is(proxies: int, forwarded: str) -> str | None:
    before, settings.TRUSTED_PROXY_COUNT = settings.TRUSTED_PROXY_COUNT, proxies
    try:
        return browser.address(request_with(HTTP_X_FORWARDED_FOR=forwarded))
    finally:
        settings.TRUSTED_PROXY_COUNT = before


@given(st.text(max_size=2000), st.integers(0, 5))
def test_no_header_breaks_it_and_no_subject_of_a_limit_grows_long(forwarded, proxies):
    assert len(client_is(proxies, forwarded) or "") < 50


@given(st.text(max_size=300), st.lists(st.sampled_from(NODES), min_size=1, max_size=20))
def test_what_a_client_writes_itself_never_decides(written, nodes):
    """Neither where the proxies name the client, nor where they do not know it."""
    entries = ", ".join(nodes)
    assert client_is(len(nodes), f"{written},{entries}") == client_is(len(nodes), entries)


@given(st.text(max_size=300))
def test_a_host_that_a_client_writes_never_decides(host):
    """A proxy that passes `Forwarded` on repeats the host of the request, with its quotes escaped."""
    escaped = host.replace("\\", "\\\\").replace('"', '\\"')
    assert client_is(1, f'6.6.6.6, for=203.0.113.9;host="{escaped}"') in ("203.0.113.9", None)


@pytest.mark.parametrize("host", ["a, for=6.6.6.6", "a, for=6.6.6.6;by=", "a;for=6.6.6.6", "a, 6.6.6.6"])
def test_a_host_that_looks_like_an_entry_never_decides(host):
    for element in (f'for=203.0.113.9;host="{host}"', f'host="{host}";for=203.0.113.9;proto=https'):
        assert client_is(1, element) in ("203.0.113.9", None)
