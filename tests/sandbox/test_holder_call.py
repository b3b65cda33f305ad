"""Calls of the holder for tests: parsed strictly, refused with one sentence."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presentation.machine_errors import MachineError
from sandbox.holder.call import HolderCall
from sandbox.identity_provider.personas import OUTCOMES

ENDPOINT = "https://wallet.example/verifiable-credentials/v1/presentation/authorize"


def test_persona_and_decision_have_defaults() -> None:
    read = HolderCall.from_json(json.dumps({"authorize_url": f"{ENDPOINT}?a=b"}).encode(), endpoint=ENDPOINT)

    assert (read.authorize_url, read.persona, read.decision) == (f"{ENDPOINT}?a=b", "adult", "share")


MALFORMED = {
    "no JSON": (b"{", "The body must be JSON."),
    "not UTF-8": (b"\xff", "The body must be JSON."),
    "too deep": (b"[" * 15_000, "The body must be JSON."),
    "a name twice": (b'{"decision": "share", "decision": "decline"}', "The body must be JSON."),
    "no object": (b"[]", "The body must be a JSON object."),
    "nothing": (b"{}", "authorize_url is missing: the address your application sends the browser to."),
    "no text": (b'{"authorize_url": 7}', "authorize_url is missing"),
    "a path only": (b'{"authorize_url": "/x"}', "authorize_url must begin with"),
    "elsewhere": (b'{"authorize_url": "https://elsewhere.example/?a=b"}', f"must begin with {ENDPOINT}?"),
    "white space": (json.dumps({"authorize_url": f"{ENDPOINT}?a=b c"}).encode(), "percent-encoded"),
    "a lone surrogate": (b'{"authorize_url": "\\ud800"}', "The body must be JSON."),
    "too long": (json.dumps({"authorize_url": f"{ENDPOINT}?{'a' * 10_000}"}).encode(), "10000 characters"),
    "unknown persona": (b'{"persona": "king"}', "persona must be one of adult, under-18, "),
    "a list": (b'{"persona": ["adult"]}', "persona must be one of adult, under-18, "),
    "unknown decision": (b'{"decision": "maybe"}', "decision must be one of share, decline."),
    "unknown member": (b'{"person": "adult"}', "authorize_url, persona, decision"),
}


@pytest.mark.parametrize("mistake", MALFORMED)
def test_a_mistake_in_the_call_gives_one_sentence(mistake: str) -> None:
    body, sentence = MALFORMED[mistake]

    with pytest.raises(MachineError) as refused:
        HolderCall.from_json(body, endpoint=ENDPOINT)

    assert sentence in str(refused.value)


@given(
    st.one_of(
        st.binary(max_size=200),
        st.dictionaries(
            st.sampled_from(["authorize_url", "persona", "decision", "x"]),
            st.one_of(
                st.none(), st.integers(), st.text(), st.sampled_from(["adult", "share", ENDPOINT + "?a"])
            ),
        ).map(lambda members: json.dumps(members).encode()),
    )
)
def test_whatever_is_sent_is_read_or_refused_with_a_sentence(body: bytes) -> None:
    try:
        read = HolderCall.from_json(body, endpoint=ENDPOINT)
    except MachineError:
        pass
    else:
        assert read.authorize_url.startswith(ENDPOINT)
        assert read.persona in OUTCOMES
        assert read.decision in ("share", "decline")
