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
        (2, "203.0.113.9", "192.0.2.1"),
        (1, "not an address", "unknown"),
        (1, "", "unknown"),
        (1, "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        (1, "::ffff:203.0.113.9", "203.0.113.9"),
    ],
)
def test_forwarded_addresses_are_believed_as_far_as_our_proxies_wrote_them(
    settings, proxies, forwarded, address
):
    settings.TRUSTED_PROXY_COUNT = proxies
    request = request_with(REMOTE_ADDR="192.0.2.1", HTTP_X_FORWARDED_FOR=forwarded)
    assert browser.address(request) == address


def test_a_server_on_a_socket_file_knows_no_address():
    assert browser.address(request_with(REMOTE_ADDR="")) == "unknown"


@given(st.text(max_size=2000), st.integers(0, 5))
def test_no_header_breaks_it_and_no_subject_of_a_limit_grows_long(forwarded, proxies):
    before, settings.TRUSTED_PROXY_COUNT = settings.TRUSTED_PROXY_COUNT, proxies
    try:
        address = browser.address(request_with(HTTP_X_FORWARDED_FOR=forwarded))
    finally:
        settings.TRUSTED_PROXY_COUNT = before
    assert len(address) < 50
