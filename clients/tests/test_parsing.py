"""Whatever a stranger sends, the Python library's parsers raise `Rejected` and nothing else."""

import base64
import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.tests.vectors import STATE, case, pem
from credential_presentation import Pending, Rejected, Wallet, read_webhook, state_of, verify_archive
from credential_presentation.archive import PARTS
from credential_presentation.certificates import Roots
from credential_presentation.jose import Jwt, decode, decrypt, encode, new_key, read_json
from credential_presentation.verification import Presentation, verify
from tests.forgery import HONEST, NOW, Forger, Tampering
from tests.forgery import new_key as forged_key
from tests.relying_party import digest

NAMES = st.sampled_from(["_sd", "...", "_sd_alg", "cnf", "jwk", "status", "x", "é"])
JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["_sd", "...", "_sd_alg", "cnf", "jwk", "status", "x", "é"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)
SEGMENT = st.text(alphabet="AZaz09-_=.~{}é\ud800", max_size=20) | JSON.map(
    lambda each: encode(json.dumps(each).encode())
)
TOKEN = st.lists(SEGMENT, max_size=4).map(".".join)
FIELDS = st.dictionaries(
    st.sampled_from(["state", "vp_token", "error", "iss", "response"]),
    st.text(max_size=30) | TOKEN | JSON,
    max_size=5,
)
HEADERS = st.sampled_from(["webhook-id", "webhook-timestamp", "Webhook-Signature"])
CASE = case(Forger(), HONEST["as asked"], [])


def encoded(value: Any) -> str:
    return encode(json.dumps(value).encode())


def parsed(parse: Any, *arguments: Any) -> None:
    with suppress(Rejected):
        parse(*arguments)


@given(text=st.text(max_size=40) | TOKEN | JSON)
def test_parsers_of_texts(text: Any) -> None:
    for parse in (Jwt, Presentation, decode):
        parsed(parse, text)
    parsed(decrypt, text, new_key("one"))
    if isinstance(text, str):
        parsed(verify_archive, text, CASE["wallet"]["root"])


@given(octets=st.binary(max_size=60))
def test_base64url_is_read_as_it_was_written(octets: bytes) -> None:
    assert decode(encode(octets)) == octets
    with pytest.raises(Rejected):
        decode(encode(octets) + "=")
    parsed(read_json, octets, dict)


@given(value=JSON)
def test_json_is_read_as_it_was_written(value: Any) -> None:
    assert repr(read_json(json.dumps(value), object)) == repr(value)
    with pytest.raises(Rejected):
        read_json('{"a": 1, "a": 2}', dict)


@given(fields=FIELDS)
def test_fields_of_a_form(fields: dict[str, Any]) -> None:
    wallet = Wallet(
        "https://w.example", "id", "https://s.example/", root=CASE["wallet"]["root"], clock=lambda: NOW
    )
    for key in (None, new_key(STATE)):
        pending = Pending("https://w.example", "id", "n" * 32, [], (), STATE, NOW, key)
        with pytest.raises(Exception) as refused:
            wallet.finish(pending, fields | {"state": STATE})
        assert type(refused.value).__name__ in ("Rejected", "Denied")
    parsed(state_of, fields)


@given(headers=st.dictionaries(HEADERS, st.text(max_size=20)), body=st.binary(max_size=20))
def test_webhooks(headers: dict[str, str], body: bytes) -> None:
    with pytest.raises(Rejected):
        read_webhook(headers, body, f"whsec_{'A' * 43}=")


@given(place=st.integers(0, 1), at=st.integers(0, 600), octets=st.binary(max_size=4), x5c=st.none() | JSON)
def test_certificates_of_strangers(place: int, at: int, octets: bytes, x5c: Any) -> None:
    forger = Forger(**KEYS)
    header = Jwt(forger.present(HONEST["as asked"]).split("~")[0]).header
    certificate = base64.b64decode(header["x5c"][place])
    changed = certificate[:at] + octets + certificate[at + len(octets) :]
    header["x5c"][place] = base64.b64encode(changed).decode()
    if x5c is not None:
        header["x5c"] = x5c
    roots = Roots(pem(forger.root))
    for issuer in ("https://wallet.example", "https://[x", "", "é"):
        parsed(roots.key_of, Jwt(f"{encoded(header)}.e30.AA"), issuer, NOW)


@given(content=JSON, signed=st.booleans(), payload=JSON)
def test_disclosures_that_an_issuer_signed(content: Any, signed: bool, payload: Any) -> None:
    """Whatever it says: it is verified, or rejected."""
    forger = Forger(**KEYS)
    text = encoded(content)

    def issue(_header: Any, said: dict[str, Any], shown: list[str]) -> None:
        shown.append(text)
        if signed:
            said["_sd"].append(digest(text))
        said["more"] = payload

    token = forger.present(Tampering([], issue=issue))
    wallet = CASE["wallet"]
    pending = Pending(wallet["base_url"], wallet["client_id"], CASE["pending"]["nonce"], None)
    key = forger.signing_key.public_key()
    parsed(lambda: verify(Presentation(token), pending, lambda _jwt: key, NOW, lambda _uri: ""))


KEYS = {f"{name}_key": forged_key() for name in ("root", "issuing", "signing", "holder", "unrelated")}
DOCUMENT = st.fixed_dictionaries(
    {}, optional={**{name: st.lists(TOKEN, max_size=2) | JSON for name in PARTS}, "statement": TOKEN | JSON}
)


@given(changed=DOCUMENT)
def test_archives(changed: dict[str, Any]) -> None:
    parsed(verify_archive, json.dumps(ARCHIVE | changed), CASE["wallet"]["root"])


ARCHIVE = {
    "presentations": [CASE["fields"]["vp_token"]],
    "transaction_data": [],
    "certificates": Jwt(CASE["fields"]["vp_token"].split("~")[0]).header["x5c"],
    "status_lists": [CASE["wallet"]["documents"]["https://wallet.example/status-lists/7"]],
}


def test_the_archive_that_the_examples_change_is_genuine() -> None:
    archived = verify_archive(json.dumps(ARCHIVE), CASE["wallet"]["root"])
    assert archived.claims[0]["given_name"] == "Alice"
    assert "Alice" not in repr(archived)
