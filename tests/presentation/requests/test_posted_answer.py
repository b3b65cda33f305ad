"""The form that is posted, and which `redirect_uri` of the response the browser may follow."""

import json
from urllib.parse import parse_qsl, urlsplit

from hypothesis import given
from hypothesis import strategies as st

from presentation.relying_parties.metadata.answer_names import OF_ANSWERS
from presentation.requests.delivery.posting import form, redirect_uri_in


@given(st.dictionaries(st.sampled_from(sorted(OF_ANSWERS)), st.text()), st.none() | st.text())
def test_a_form_gives_back_what_was_put_in(answer: dict[str, str], state: str | None) -> None:
    expected = answer | ({} if state is None else {"state": state})

    assert dict(parse_qsl(form(answer, state, None).decode(), keep_blank_values=True)) == expected


def test_a_state_of_the_request_is_the_one_that_is_sent() -> None:
    assert form({"error": "access_denied"}, "a b&c=d", None) == b"error=access_denied&state=a%20b%26c%3Dd"


REGISTERED = ["https://app.example/callback", "com.example.app:/callback"]
ADDRESSES = st.builds(
    "{}{}".format,
    st.sampled_from(
        ["https://app.example/", "HTTPS://[::1]:8443/", "com.example.app:", "http://127.0.0.1/", ""]
    ),
    st.text("ab*#?%41@:/\\\r\n\t é", max_size=12) | st.text(max_size=12),
)


@given(st.binary() | ADDRESSES.map(lambda uri: json.dumps({"redirect_uri": uri}).encode()))
def test_what_is_followed_is_one_uri_of_a_scheme_that_may_be(body: bytes) -> None:
    found = redirect_uri_in("application/json", body, REGISTERED)

    if found is not None:
        assert found.isascii()
        assert found.isprintable()
        assert not set(' \\<>"{}|^`') & set(found)
        assert found.count("#") <= 1
        assert urlsplit(found).scheme in ("https", "com.example.app")
        assert urlsplit(found).fragment == found.partition("#")[2]


@given(
    st.from_regex(
        r"[A-Za-z0-9._~*/-]{0,40}(\?[A-Za-z0-9=&*+]{0,40})?(#[A-Za-z0-9=&*]{0,40})?", fullmatch=True
    )
)
def test_every_path_query_and_fragment_of_an_https_address_is_followed(rest: str) -> None:
    uri = f"https://elsewhere.example/{rest}"

    assert redirect_uri_in("application/json", json.dumps({"redirect_uri": uri}).encode(), REGISTERED) == uri
