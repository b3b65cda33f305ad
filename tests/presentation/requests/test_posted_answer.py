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


@given(st.binary() | st.text().map(lambda uri: json.dumps({"redirect_uri": uri}).encode()))
def test_what_is_followed_was_looked_at_and_has_no_character_that_ends_a_header(body: bytes) -> None:
    looked_at = []

    def is_registrable(address: str) -> bool:
        looked_at.append(address)
        return True

    found = redirect_uri_in("application/json", body, is_registrable)

    if found is not None:
        assert found.isascii()
        assert found.isprintable()
        assert " " not in found
        assert looked_at == [found.partition("#")[0]]
        assert urlsplit(found).fragment == found.partition("#")[2]
