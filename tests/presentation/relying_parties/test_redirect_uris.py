"""The rules for redirect URIs."""

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.registering import NotRegistrableError
from presentation.relying_parties.metadata.redirect_uris import (
    may_be_followed,
    problem_with_start,
    validate,
)

ALLOWED = [
    "https://app.example",
    "https://app.example/",
    "https://app.example/callback",
    "https://app.example/callback?tenant=1&next=%2Fhome",
    "https://app.example:8443/callback",
    "https://xn--mnchen-3ya.example/callback",
    "https://192.0.2.1/callback",
    "https://[2001:db8::1]:8443/callback",
    "https://localhost/callback",
    "https://my_app.example/callback",
    "https://app.example/a/~b/(c);d=1,2'!$",
    "https://app.example/.well-known/callback",
    "http://127.0.0.1/callback",
    "http://127.0.0.1:8400",
    "http://[::1]/callback",
    "http://[::1]:8400/callback?x=1",
    "com.example.app:/callback",
    "com.example.app:callback",
    "com.example.app://callback",
    "com.example.app:///callback",
    "org.example-2.app+x:/oauth2redirect/example-provider",
]

REFUSED = {
    "empty": "",
    "relative": "/callback",
    "scheme-relative": "//app.example/callback",
    "no scheme": "app.example/callback",
    "only a scheme": "https:",
    "no host": "https:///callback",
    "scheme and path only": "https:app.example",
    "one slash": "https:/app.example/callback",
    "plain http": "http://app.example/callback",
    "http on a private network": "http://192.168.0.1/callback",
    "http on another loopback address": "http://127.0.0.2/callback",
    "http on a short loopback address": "http://127.1/callback",
    "http on all addresses": "http://0.0.0.0/callback",
    "http with localhost": "http://localhost:3000/callback",
    "http below localhost": "http://app.localhost/callback",
    "http with a name that begins like loopback": "http://127.0.0.1.example/callback",
    "IPv6 in another notation": "http://[0:0:0:0:0:0:0:1]/callback",
    "IPv6 with a zone": "https://[fe80::1%25eth0]/callback",
    "not IPv6": "https://[::g]/callback",
    "bracket not closed": "https://[::1/callback",
    "a number for a host": "https://2130706433/callback",
    "hexadecimal for a host": "https://0x7f000001/callback",
    "octal in an address": "https://0177.0.0.1/callback",
    "dot first": "https://.example/callback",
    "two dots": "https://app..example/callback",
    "hyphen first": "https://-app.example/callback",
    "user": "https://user@app.example/callback",
    "user and password": "https://user:secret@app.example/callback",
    "empty user": "https://@app.example/callback",
    "user in an app's URI": "com.example.app://user@host/callback",
    "port 0": "https://app.example:0/callback",
    "port too high": "https://app.example:65536/callback",
    "port empty": "https://app.example:/callback",
    "port no number": "https://app.example:x/callback",
    "fragment": "https://app.example/callback#x",
    "empty fragment": "https://app.example/callback#",
    "wildcard host": "https://*.example/callback",
    "wildcard path": "https://app.example/*",
    "wildcard query": "https://app.example/?*",
    "space": "https://app.example/a b",
    "space before": " https://app.example/",
    "space after": "https://app.example/ ",
    "newline after": "https://app.example/\n",
    "tab inside": "https://app.exa\tmple/",
    "NUL": "https://app.example/\x00",
    "control character": "https://app.example/\x1f",
    "backslash": "https://app.example\\@evil.example/",
    "backslashes for slashes": "https:\\\\app.example\\",
    "not ASCII": "https://münchen.example/callback",
    "a full stop from another script": "https://app。example/callback",
    "quotation mark": 'https://app.example/"',
    "angle bracket": "https://app.example/<script>",
    "template": "https://app.example/{tenant}",
    "bad escape": "https://app.example/%zz",
    "cut escape": "https://app.example/%4",
    "dot segments": "https://app.example/a/../b",
    "dot segments at the end": "https://app.example/a/..",
    "escaped dot segments": "https://app.example/a/%2e%2E/b",
    "capitals in the scheme": "HTTPS://app.example/callback",
    "capitals in loopback": "HTTP://127.0.0.1/callback",
    "javascript": "javascript:alert(1)",
    "javascript in capitals": "JavaScript:alert(1)",
    "javascript with slashes": "javascript://app.example/%0aalert(1)",
    "data": "data:text/html,x",
    "vbscript": "vbscript:x",
    "file": "file:///etc/passwd",
    "blob": "blob:https://app.example/x",
    "about": "about:blank",
    "view-source": "view-source:https://app.example/",
    "websocket": "wss://app.example/",
    "ftp": "ftp://app.example/",
    "mail": "mailto:a@app.example",
    "an app's scheme without a domain": "myapp:/callback",
    "an app's scheme that ends in a dot": "com.:/callback",
    "an app's scheme with two dots": "com..app:/callback",
    "an app's scheme that begins with a digit": "1com.example:/callback",
    "an app's scheme with nothing after it": "com.example.app:",
    "an app's scheme with only a slash after it": "com.example.app:/",
    "an app's scheme with only slashes after it": "com.example.app://",
    "too long": "https://app.example/" + "a" * 500,
    "OAuth's out-of-band address": "urn:ietf:wg:oauth:2.0:oob",
}


@pytest.mark.parametrize("uri", ALLOWED)
def test_an_exact_address_of_an_application_may_be_registered(uri: str) -> None:
    validate(uri)


@pytest.mark.parametrize("uri", REFUSED.values(), ids=REFUSED.keys())
def test_every_other_uri_is_refused_with_a_reason(uri: str) -> None:
    with pytest.raises(NotRegistrableError) as refused:
        validate(uri)

    assert str(refused.value.reason)


def test_localhost_may_be_registered_only_where_that_is_allowed() -> None:
    validate("http://localhost:3000/callback", allow_localhost=True)
    for uri in ("http://localhost.example/", "http://app.localhost/", "http://localhost@evil.example/"):
        with pytest.raises(NotRegistrableError):
            validate(uri, allow_localhost=True)


@given(
    st.one_of(
        st.text(max_size=40),
        st.builds(
            "{}{}{}".format,
            st.sampled_from(["https://", "http://", "com.example.app:"]),
            st.text(max_size=20),
            st.sampled_from(["", "/callback"]),
        ),
        st.from_regex(r"[a-z.+-]{1,12}:/{0,3}[a-z0-9.:@\[\]\\#*%/?-]{0,30}", fullmatch=True),
    )
)
def test_whatever_is_accepted_is_absolute_exact_and_not_dangerous(uri: str) -> None:
    try:
        validate(uri)
    except NotRegistrableError:
        return
    parts = urlsplit(uri)
    assert uri.isascii()
    assert uri.isprintable()
    assert not set('#* \\<>"{}|^`') & set(uri)
    assert "@" not in parts.netloc
    assert uri.startswith(parts.scheme + ":")
    if parts.scheme == "http":
        assert parts.hostname in ("127.0.0.1", "::1")
    elif parts.scheme == "https":
        assert parts.hostname
    else:
        assert "." in parts.scheme


REGISTERED = ["https://app.example/callback", "http://127.0.0.1:8400/", "com.example.app://other.example/"]


@pytest.mark.parametrize(
    "uri", ["", "https://app.example/", "https://APP.example:8443/start?tenant=1", "https://127.0.0.1/"]
)
def test_requests_begin_on_the_host_of_a_redirect_uri(uri: str) -> None:
    assert problem_with_start(uri, REGISTERED) is None


@pytest.mark.parametrize(
    "uri",
    [
        *("https://elsewhere.example/", "https://sub.app.example/", "https://app.example.evil.example/"),
        *("http://127.0.0.1:8400/", "com.example.app://other.example/", "https://other.example/"),
        *(
            "https://app.example@evil.example/",
            "https://app.example/#x",
            "https://app.example\\.evil.example/",
        ),
        *("javascript:alert(1)", "//app.example/", "https:app.example"),
    ],
)
def test_requests_begin_nowhere_else(uri: str) -> None:
    assert problem_with_start(uri, REGISTERED)


@given(st.one_of(st.text(max_size=40), st.from_regex(r"https?:/{0,3}[a-z0-9.:@/?-]{0,30}", fullmatch=True)))
def test_what_requests_may_begin_with_is_https_on_a_registered_host(uri: str) -> None:
    if problem_with_start(uri, REGISTERED) is None and uri:
        assert (urlsplit(uri).scheme, urlsplit(uri).hostname in ("app.example", "127.0.0.1")) == (
            "https",
            True,
        )


FOLLOWED = [
    *(uri for uri in ALLOWED if uri.startswith("https:")),
    "https://app.example/" + "a" * (2048 - len("https://app.example/")),
    "https://app.example/a*b?filter=*#c*",
    "https://app.example/a/../b",
    "https://elsewhere.example/welcome?response_code=1",
    "https://app.example/callback#response_code=1",
    "https://app.example/callback#",
    "HTTPS://app.example/callback",
    "com.example.app://?response_code=1",
    "com.example.app:?response_code=1",
    "com.example.app:",
    "COM.example.app:/welcome",
    "com.example.app://user@host/welcome",
    "http://127.0.0.1:9999/welcome",
    "http://[::1]/welcome",
]

NOT_FOLLOWED = {
    "too long": "https://app.example/" + "a" * (2049 - len("https://app.example/")),
    "two fragments": "https://app.example/#a#b",
    "an app's scheme that is not registered": "com.example.other:/welcome",
    "the beginning of a registered scheme": "com.example:/welcome",
    "plain http": "http://app.example/welcome",
    "http with localhost": "http://localhost/welcome",
    "user": "https://user@app.example/callback",
    "wildcard host": "https://*.example/callback",
    "bracket not closed": "https://[::1/callback",
    "no host": "https:///callback",
    "one slash": "https:/app.example/callback",
    "bad escape": "https://app.example/%zz",
    **{
        name: REFUSED[name]
        for name in (
            *(
                "empty",
                "relative",
                "scheme-relative",
                "space",
                "newline after",
                "tab inside",
                "NUL",
                "backslash",
            ),
            *("backslashes for slashes", "not ASCII", "javascript", "javascript in capitals", "data", "file"),
            *(
                "javascript with slashes",
                "vbscript",
                "blob",
                "about",
                "view-source",
                "port too high",
                "port 0",
            ),
        )
    },
}


@pytest.mark.parametrize("uri", FOLLOWED)
def test_a_browser_follows_https_and_registered_schemes(uri: str) -> None:
    assert may_be_followed(uri, REGISTERED)


@pytest.mark.parametrize("uri", NOT_FOLLOWED.values(), ids=NOT_FOLLOWED.keys())
def test_a_browser_follows_nothing_else(uri: str) -> None:
    assert not may_be_followed(uri, REGISTERED)


def test_without_its_scheme_among_the_registered_only_https_is_followed() -> None:
    web = ["https://app.example/callback"]

    assert may_be_followed("https://elsewhere.example/", web)
    assert may_be_followed("https://elsewhere.example/", [])
    for uri in ("http://127.0.0.1/welcome", "com.example.app:/welcome"):
        assert not may_be_followed(uri, web)


def test_a_scheme_that_no_registration_may_have_is_not_followed_even_if_it_is_stored() -> None:
    assert not may_be_followed("javascript:alert(1)", ["javascript:/callback"])


def test_localhost_is_followed_only_where_it_may_be_registered() -> None:
    registered = ["http://localhost:3000/callback"]

    assert may_be_followed("http://localhost:3000/welcome", registered, allow_localhost=True)
    assert not may_be_followed("http://localhost:3000/welcome", registered)


@given(
    st.text(max_size=40)
    | st.from_regex(r"[a-z.+-]{1,12}:/{0,3}[a-z0-9.:@\[\]\\#*%/?-]{0,30}", fullmatch=True)
)
def test_what_is_followed_could_be_a_header_and_is_absolute(uri: str) -> None:
    if may_be_followed(uri, REGISTERED):
        assert uri.isascii()
        assert uri.isprintable()
        assert not set(' \\<>"{}|^`') & set(uri)
        assert urlsplit(uri).scheme in ("https", "http", "com.example.app")


@pytest.mark.parametrize("uri", ALLOWED)
def test_every_address_that_could_be_registered_is_followed_with_its_scheme(uri: str) -> None:
    assert may_be_followed(uri, [uri])
