"""Untrusted text, numbers and JSON: refused as invalid everywhere, never a server error.

Property-based tests of the parsers follow at the end; `tools.fuzz` sends arbitrary requests everywhere.
"""

import json
import os
import pkgutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from encodings import __path__ as encodings_path
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from django.conf import settings as django_settings
from django.http.multipartparser import MultiPartParserError
from django.test import Client, RequestFactory
from hypothesis import example, given
from hypothesis import strategies as st

from config.wsgi import Request, application
from infra import base64url, strict_json
from infra.base64url import Base64urlError
from infra.registering import NotRegistrableError
from infra.strict_json import StrictJsonError
from keys.jws import JwsError, take_apart
from presentation import verification as verification_endpoint
from presentation.machine_errors import InvalidClientError, InvalidTokenError, MachineError
from presentation.models import RelyingParty
from presentation.relying_parties.authentication import access_tokens, assertion
from presentation.relying_parties.authentication.signed_jwt import ClientJwtError, signed_claims
from presentation.relying_parties.forms import KeySetField
from presentation.relying_parties.metadata.public_keys import (
    from_json,
    problem_with,
    read_published,
)
from presentation.requests.receiving.posted_form import read as read_form
from presentation.transaction_data import entries
from sandbox.holder.call import HolderCall
from sandbox.playground.posted_answers import NotAnAnswerError, _handle_of
from tests.forgery import new_key, public_jwk, sign_jwt
from tests.presentation.clients import FORM, TOKEN, access_token, by_assertion, registered, with_key
from tests.presentation.far_ends import answers, far_end
from tests.presentation.requests.authorization_requests import PATH, fragment
from tests.presentation.requests.pushing import PAR
from tests.presentation.verifying import VERIFY
from tests.sandbox.developers import make, signed_in
from wallet.sd_jwt import verification
from wallet.sd_jwt.issuance import SdJwtError, digest

OUTCOME = "/verifiable-credentials/v1/presentation/outcome"
HEADER = "eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCJ9"  # {"alg":"ES256","typ":"at+jwt"}
KEY = new_key()
ROOT = Path(__file__).resolve().parents[3]
NOW = datetime(2026, 9, 21, tzinfo=UTC)

# One segment each that no token has; the header before it may be valid.
BEYOND_ASCII = ("é", "\u0660", "\x80", "\u20ac")
each_stranger = pytest.mark.parametrize("text", BEYOND_ASCII)


def spoilt(token: str, text: str) -> list[str]:
    """A valid token with the text in each of its segments."""
    segments = token.split(".")
    return [".".join([*segments[:at], segments[at] + text, *segments[at + 1 :]]) for at in range(3)]


def headers(token: str) -> dict[str, str]:
    # As gunicorn passes it on: the bytes of UTF-8 as Latin-1 (PEP 3333).
    return {"Authorization": f"Bearer {token}".encode().decode("latin-1")}


# --- Text beyond ASCII in tokens --------------------------------------------------------------------------


@pytest.mark.django_db
@each_stranger
@pytest.mark.usefixtures("signing_key")
def test_an_access_token_beyond_ascii_is_refused_everywhere(client: Client, text: str) -> None:
    for token in spoilt(access_token(registered()), text):
        for path, kind in ((VERIFY, "application/json"), (PAR, FORM)):
            response = client.post(path, data=b"{}", content_type=kind, headers=headers(token))
            assert (response.status_code, response.json()["error"]) == (401, "invalid_token")
        response = client.get(OUTCOME, {"nonce": "x"}, headers=headers(token))
        assert (response.status_code, response.json()["error"]) == (401, "invalid_token")


@pytest.mark.django_db
@each_stranger
@pytest.mark.parametrize("path", [TOKEN, PAR])
def test_a_client_assertion_beyond_ascii_is_refused(client: Client, text: str, path: str) -> None:
    party, key = with_key()
    good = sign_jwt({"alg": "ES256", "kid": "one"}, {"sub": party.client_id, "iss": party.client_id}, key)
    for token in spoilt(good, text):
        body = urlencode({"grant_type": "client_credentials"} | by_assertion(token))
        response = client.post(path, data=body, content_type=FORM)
        assert (response.status_code, response.json()["error"]) == (401, "invalid_client")


@pytest.mark.django_db
@each_stranger
def test_a_request_object_beyond_ascii_is_refused(client: Client, text: str) -> None:
    party, key = with_key()
    good = sign_jwt(
        {"alg": "ES256", "kid": "one", "typ": "oauth-authz-req+jwt"}, {"client_id": party.client_id}, key
    )
    for token in spoilt(good, text):
        response = client.get(PATH, {"client_id": party.client_id, "request": token})
        assert (response.status_code, response.headers.get("Location")) == (400, None)


@pytest.mark.django_db
@each_stranger
@pytest.mark.usefixtures("signing_key")
def test_a_pushed_request_object_beyond_ascii_is_refused(client: Client, text: str) -> None:
    party, key = with_key()
    good = sign_jwt(
        {"alg": "ES256", "kid": "one", "typ": "oauth-authz-req+jwt"}, {"client_id": party.client_id}, key
    )
    for token in spoilt(good, text):
        body = urlencode({"request": token})
        response = client.post(PAR, data=body, content_type=FORM, headers=headers(access_token(party)))
        assert (response.status_code, response.json()["error"]) == (400, "invalid_request_object")


@pytest.mark.django_db
def test_a_published_request_object_beyond_ascii_is_refused(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    from presentation.requests.receiving import signed_requests

    body = f"{HEADER}.é.AA".encode()
    with far_end(answers(body, "Content-Type: application/oauth-authz-req+jwt")) as far:
        monkeypatch.setattr(signed_requests, "outbound", far.outbound())
        key = {"keys": [{"kid": "one", **public_jwk(KEY)}]}
        party = registered(jwks=key, request_uri_prefix=far.url("/requests/"))
        uri = far.url("/requests/1")
        response = client.get(PATH, {"client_id": party.client_id, "request_uri": uri})
        assert (response.status_code, len(far.requests)) == (400, 1)


@pytest.mark.django_db
@each_stranger
@pytest.mark.usefixtures("signing_key")
def test_what_is_to_be_verified_is_refused_beyond_ascii(client: Client, text: str) -> None:
    token = access_token(registered())

    def verify(**body: Any) -> Any:
        good = {"vp_token": f"{HEADER}.e30.AA~", "nonce": "n" * 16}
        return client.post(
            VERIFY, data=json.dumps(good | body), content_type="application/json", headers=headers(token)
        )

    for transaction_data in ([text], ["e30", text], text, f"e30 {text}", json.dumps([text])):
        response = verify(transaction_data=transaction_data)
        assert (response.status_code, response.json()["error"]) == (400, "invalid_request")
    for vp_token in (f"{HEADER}.{text}.AA~", {"q": [f"{HEADER}.e30.AA~{text}"]}, text):
        response = verify(vp_token=vp_token)
        assert (response.status_code, response.json()["valid"]) == (200, False)


@pytest.mark.django_db
@each_stranger
def test_transaction_data_beyond_ascii_is_reported_to_the_relying_party(
    client: Client, acme_bank: RelyingParty, text: str
) -> None:
    from tests.presentation.requests.authorization_requests import asked

    for value in (text, f"e30{text}", json.dumps([text])):
        location = client.get(PATH, asked(acme_bank, transaction_data=value)).headers["Location"]
        assert fragment(location)["error"] == "invalid_transaction_data"


@pytest.mark.django_db
@each_stranger
def test_a_basic_header_or_a_form_beyond_ascii_is_refused(client: Client, text: str) -> None:
    basic = {"Authorization": f"Basic {text}".encode().decode("latin-1")}
    for path in (TOKEN, PAR):
        body = b"grant_type=client_credentials"
        response = client.post(path, data=body, content_type=FORM, headers=basic)
        assert (response.status_code, response.json()["error"]) == (401, "invalid_client")
        response = client.post(path, data=f"a={text}".encode(), content_type=FORM)
        assert (response.status_code, response.json()["error"]) == (400, "invalid_request")


# --- Headers that are read before any view ----------------------------------------------------------------


def through_gunicorn(method: str, path: str, body: bytes = b"", **environ: str) -> tuple[int, bytes]:
    """The answer of the WSGI application; the test client could not send these headers."""
    said: list[Any] = []
    request = RequestFactory().generic(method, path, body)
    answer = application(request.environ | environ, lambda *words: said.extend(words))
    return int(said[0].split()[0]), b"".join(answer)


UNREADABLE = (
    "text/plain; a*=nonsense'x'%41",
    "application/x-www-form-urlencoded; charset=base64",
    "application/json; charset=rot13",
    "multipart/form-data; boundary=x; charset=base64",
    "multipart/form-data; boundary*=nonsense'x'%41",
    "text/plain; charset=undefined; a*=undefined''%41",
    ";;;=;*=''",
    "text/plain; charset*; charset*0=a",
)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("content_type", UNREADABLE)
@pytest.mark.parametrize("path", ["/", "/wallet/sign-in/", "/oauth/v2/token", "/admin/", "/nowhere", PATH])
def test_no_content_type_breaks_an_address(content_type: str, path: str) -> None:
    for method in ("GET", "POST"):
        status, _body = through_gunicorn(
            method, f"{path}?x=%41", b"--x\r\n\r\n--x--", CONTENT_TYPE=content_type
        )
        assert status < 500, method


PARTS = "multipart/form-data; boundary=x"


def part(headers: str, content: bytes = b"1") -> bytes:
    """A body with one part (RFC 7578), whose headers are these."""
    return f"--x\r\n{headers}\r\n\r\n".encode("latin-1") + content + b"\r\n--x--\r\n"


NAMED = "Content-Disposition: form-data; name=next"
MALFORMED_BODIES = {
    "a name in no order": (PARTS, part("Content-Disposition: form-data; name*; name*0=a")),
    "a file name in no order": (PARTS, part(f"{NAMED}; filename*; filename*0=a")),
    "a charset in no order": (
        PARTS,
        part(f"{NAMED}; filename=a\r\nContent-Type: a/b; charset*; charset*0=a"),
    ),
    "another header in no order": (PARTS, part(f"{NAMED}\r\nX-Other: a; b*; b*0=c")),
    "a name of an encoding that is none of text": (PARTS, part("Content-Disposition: a; name*=base64''%41")),
    "an unknown encoding": (PARTS, part("Content-Disposition: form-data; name*=nonsense'x'%41")),
    "a file without its last characters": (
        PARTS,
        part(f"{NAMED}; filename=a\r\nContent-Transfer-Encoding: base64", b"A"),
    ),
    "a length that is no number": (PARTS, part(f"{NAMED}; filename=a\r\nContent-Length: {'9' * 5000}")),
    "bytes that are no UTF-8": (PARTS, part('Content-Disposition: form-data; name="\xff"', b"\xff\0")),
    "no end": (PARTS, b'--x\r\nContent-Disposition: form-data; name="a'),
    "no part": (PARTS, b"\xff\0"),
    "too many parts": (PARTS, part(NAMED)[:-6] * 1200),
    "a part with too many headers": (PARTS, part(f"{NAMED}\r\n" + "A: b\r\n" * 2000)),
    "too much": (PARTS, part(NAMED, b"a" * 3_000_000)),
    "no boundary": ("multipart/form-data", part(NAMED)),
    "a boundary in no order": ("multipart/form-data; boundary*; boundary*0=x", part(NAMED)),
    "a boundary of other letters": ("multipart/form-data; boundary=\xe9", part(NAMED)),
    "escapes of no UTF-8": (FORM, b"next=%ff%&\xff=%ed%a0%80&%00"),
    "too many fields": (FORM, b"a=b&" * 1200),
    "too long a form": (FORM, b"a" * 3_000_000),
}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("content_type", "body"), MALFORMED_BODIES.values(), ids=MALFORMED_BODIES)
def test_no_body_breaks_a_form(content_type: str, body: bytes) -> None:
    own = {"HTTP_SEC_FETCH_SITE": "same-origin", "CONTENT_LENGTH": str(len(body))}
    for path in ("/language/", "/wallet/sign-in/", "/admin/login/", TOKEN, PATH):
        status, _page = through_gunicorn("POST", path, body, CONTENT_TYPE=content_type, **own)
        assert status < 500, path


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("length", ["9" * 4301, "0" * 5000, "\u0663", "-1", "1e3", "+1"])
@pytest.mark.parametrize("path", [TOKEN, PAR])
def test_no_length_of_a_body_breaks_an_endpoint(path: str, length: str) -> None:
    status, body = through_gunicorn("POST", path, CONTENT_TYPE=FORM, CONTENT_LENGTH=length)
    assert (status, json.loads(body)["error"]) == (413, "invalid_request")


@pytest.mark.django_db
@pytest.mark.parametrize("key", ['"\\000' + "a" * 31 + '"', '"\\777' + "a" * 31 + '"', "x" * 4000, "é" * 32])
def test_no_cookie_of_an_operator_breaks_the_admin(key: str) -> None:
    cookie = f"{django_settings.SESSION_COOKIE_NAME}={key}".encode().decode("latin-1")
    for address in ("/admin/", "/admin/login/", "/wallet/history/"):
        assert Client().get(address, headers={"Cookie": cookie}).status_code in (200, 302, 303)


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/playground/answers/", "/playground/answers/read/"])
def test_a_body_that_is_too_long_for_the_playground_is_answered_with_json(client: Client, path: str) -> None:
    response = client.post(path, data=b"a" * 300_000, content_type=FORM)
    assert (response.status_code, response.json()["error"]) == (400, "invalid_request")


# --- JSON in forms, files and fetched documents -----------------------------------------------------------

HOSTILE_KEY_SETS = {
    "a number of thousands of digits": '{"keys": [{"kid": "one", "x": ' + "9" * 5000 + "}]}",
    "depth": "[" * 5000,
    "depth that closes": "[" * 900 + "]" * 900,
    "NaN": '{"keys": NaN}',
    "an exponent beyond all": '{"keys": 1e99999999999999999999}',
    "half a character": '{"keys": [{"kid": "\\ud800"}]}',
    "NUL": json.dumps({"keys": [{"kid": "a\0b", **public_jwk(KEY)}]}),
    "a fraction": json.dumps({"keys": [{"kid": "one", "z": 0.5, **public_jwk(KEY)}]}),
    "a name twice": '{"keys": [], "keys": []}',
}
each_hostile_set = pytest.mark.parametrize("text", HOSTILE_KEY_SETS.values(), ids=HOSTILE_KEY_SETS)


@pytest.mark.django_db
@each_hostile_set
def test_no_key_set_that_a_developer_types_breaks_the_form_or_is_kept(text: str) -> None:
    response = make(signed_in(), jwks=text)
    assert response.status_code == 422
    assert not RelyingParty.objects.exists()


@each_hostile_set
def test_no_key_set_that_is_fetched_raises_anything_but_its_own_error(text: str) -> None:
    only(NotRegistrableError, lambda: read_published(from_json(text)))


@pytest.mark.django_db
@each_hostile_set
def test_no_file_with_a_key_set_breaks_the_command(text: str, tmp_path: Any) -> None:
    from django.core.management import CommandError, call_command

    file = tmp_path / "jwks.json"
    for content in (text.encode(), b"\xff\xfe", text.encode() + b"\x80"):
        file.write_bytes(content)
        with pytest.raises(CommandError, match="Nothing was registered"):
            call_command(
                "register_relying_party",
                *("--name", "Acme", "--redirect-uri", "https://bank.example/callback"),
                *("--scope", "urn:service:params:scope:verifiable-credentials:basic"),
                *("--jwks", str(file)),
            )


# --- Every parser with arbitrary input --------------------------------------------------------------------

HUGE = 10**4000
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just(HUGE) | st.just(-HUGE),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
WRITTEN = JSON.map(json.dumps) | JSON.map(lambda value: json.dumps(value, ensure_ascii=False))
SURROGATES = st.text(st.characters(categories=None), max_size=80)  # including lone surrogates
TOKENS = st.lists(SURROGATES | st.binary(max_size=40).map(lambda b: b.hex()), min_size=3, max_size=3).map(
    ".".join
)
ANYTHING = (
    SURROGATES | WRITTEN | TOKENS | st.sampled_from(["9" * 5000, "[" * 3000, "1e999999999999999999", "-0"])
)


def only(expected: type[Exception], parse: Callable[[], object]) -> None:
    """Either reads the input or raises the parser’s own error; fails for every other exception."""
    with suppress(expected):
        parse()


@given(ANYTHING)
@example(f"{HEADER}.é.AA")
@example("e30.\ud800.AA")
def test_whatever_stands_for_a_token_is_refused_by_its_own_error(text: str) -> None:
    only(JwsError, lambda: take_apart(text).verified(KEY.public_key(), typ=None))
    only(Base64urlError, lambda: base64url.decode(text))
    keys = {"one": KEY.public_key()}
    only(ClientJwtError, lambda: signed_claims(text, lambda _kid: keys, types=(None, "JWT")))
    only(InvalidClientError, lambda: assertion.unverified_subject(text))


@given(SURROGATES, st.integers(0, 2))
def test_a_good_token_with_anything_in_it_is_refused_by_its_own_error(text: str, at: int) -> None:
    segments = sign_jwt({"alg": "ES256", "typ": "JWT", "kid": "one"}, {"sub": "a"}, KEY).split(".")
    segments[at] += text
    spoilt = ".".join(segments)
    keys = {"one": KEY.public_key()}
    only(ClientJwtError, lambda: signed_claims(spoilt, lambda _kid: keys, types=("JWT",)))
    only(SdJwtError, lambda: verified(f"{spoilt}~{spoilt}"))


def verified(token: str, *transaction_data: str) -> object:
    return verification.verify(
        token,
        issuer_key=KEY.public_key(),
        audience="bank",
        nonce="n" * 16,
        now=NOW,
        transaction_data=transaction_data,
        typ="JWT",
        required=(),
    )


@given(SURROGATES)
@example("é")
def test_what_is_hashed_is_ascii_or_refused(text: str) -> None:
    only(SdJwtError, lambda: digest(text))


@given(ANYTHING)
def test_whatever_stands_for_json_is_read_or_refused_by_its_own_error(text: str) -> None:
    only(StrictJsonError, lambda: strict_json.loads(text))
    only(NotRegistrableError, lambda: read_published(from_json(text)))


@given(JSON)
def test_whatever_json_stands_for_a_key_set_is_read_or_refused(value: Any) -> None:
    for jwks in (
        value,
        {"keys": value},
        {"keys": [value]},
        {"keys": [{"kid": value, "x": value, "y": value}]},
    ):
        only(NotRegistrableError, lambda jwks=jwks: read_published(jwks))
        assert problem_with(jwks, "") or jwks is None


@given(ANYTHING)
def test_whatever_is_typed_for_a_key_set_is_read_or_refused_and_shown_again(text: str) -> None:
    from django import forms

    class Typed(forms.Form):
        jwks = KeySetField(required=False)

    form = Typed({"jwks": text})
    form.is_valid()
    form.has_changed()
    assert form.as_p()


@given(JSON | st.fixed_dictionaries({"vp_token": JSON, "nonce": JSON, "transaction_data": JSON | SURROGATES}))
def test_whatever_json_is_to_be_verified_is_read_or_refused(value: Any) -> None:
    only(MachineError, lambda: verification_endpoint.parse(json.dumps(value).encode()))


@given(st.lists(SURROGATES | st.just("e30"), min_size=1, max_size=3))
@example(["é"])
def test_transaction_data_to_be_verified_is_base64url_or_refused(values: list[str]) -> None:
    body = json.dumps({"vp_token": "x", "nonce": "n" * 16, "transaction_data": values}).encode()
    try:
        read = verification_endpoint.parse(body).transaction_data
    except MachineError:
        return
    assert all(map(entries.is_base64url, read))


@given(st.binary() | ANYTHING.map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_whatever_body_is_read_or_refused_by_its_own_error(body: bytes) -> None:
    only(MachineError, lambda: verification_endpoint.parse(body))
    only(MachineError, lambda: read_form(body))
    only(MachineError, lambda: HolderCall.from_json(body, endpoint="https://wallet.example/authorize"))
    only(NotAnAnswerError, lambda: _handle_of(body))
    only(NotAnAnswerError, lambda: _handle_of(b"response=" + body.hex().encode()))


@given(JSON | st.fixed_dictionaries({"authorize_url": JSON, "persona": JSON, "decision": JSON}))
def test_whatever_json_plays_the_holder_is_read_or_refused(value: Any) -> None:
    body = json.dumps(value).encode()
    only(MachineError, lambda: HolderCall.from_json(body, endpoint="https://wallet.example/authorize"))


@pytest.mark.django_db
@pytest.mark.usefixtures("signing_key")
def test_whatever_stands_for_an_access_token_is_refused_by_its_own_error() -> None:
    @given(ANYTHING)
    def tried(text: str) -> None:
        only(InvalidTokenError, lambda: access_tokens.verify(text, now=NOW))

    tried()


CODECS = sorted({module.name for module in pkgutil.iter_modules(encodings_path)} | {"nonsense", ""})


@given(
    st.text(st.characters(min_codepoint=32, max_codepoint=255)),
    st.sampled_from(CODECS),
    st.text(st.characters(min_codepoint=32, max_codepoint=255)),
)
@example("", "idna", "%C0")
@example("", "", "charset*; charset*0=a")
def test_whatever_is_said_of_the_media_type_the_request_is_read(front: str, codec: str, value: str) -> None:
    for content_type in (
        front,
        f"text/plain; a*={codec}'{front}'{value}",
        f"{front}; charset={codec}; {value}",
    ):
        environ = RequestFactory().get("/?x=%41").environ | {"CONTENT_TYPE": content_type}
        request = Request(environ | {"wsgi.input": BytesIO(b"")})
        assert request.GET["x"] == "A"
        assert isinstance(request.content_type, str)


PARAMETERS = st.builds(
    "{}{}{}".format,
    st.sampled_from(["name", "filename", "charset", "boundary"]),
    st.sampled_from(["", "*", "*0", "*1", "*0*", "*1*", "*x", "**"]),
    st.sampled_from(["", "=", "=a", "=utf-8''%41", "=base64''%41", "=''", '="', "=idna''%ff", '="a"']),
)
HEADERS = st.builds(
    "{}{}".format,
    st.sampled_from(["Content-Disposition: form-data", "Content-Type: text/plain", "X-Other: a", ""]),
    st.lists(PARAMETERS, max_size=4).map(lambda parameters: "".join(f"; {one}" for one in parameters)),
)


@given(st.lists(HEADERS, max_size=3).map("\r\n".join) | st.text(st.characters(max_codepoint=255)))
@example("Content-Disposition: form-data; name*; name*0=a")
def test_whatever_the_headers_of_a_part_are_it_is_read_or_refused(headers: str) -> None:
    request = Request(RequestFactory().post("/", part(headers), content_type=PARTS).environ)

    def read() -> None:
        assert isinstance(request.POST.dict(), dict)
        assert isinstance(request.FILES.dict(), dict)

    only(MultiPartParserError, read)


def test_an_argument_of_a_command_that_is_no_text_is_refused_with_one_sentence(tmp_path: Any) -> None:
    surroundings = {**os.environ, "STATE_DIRECTORY": str(tmp_path)}
    for argument in (b"\xff", b"--url=a\xed\xa0\x80"):
        done = subprocess.run(
            [sys.executable, "manage.py", "set_webhook", argument],
            cwd=ROOT,
            env=surroundings,
            capture_output=True,
        )
        assert (done.returncode, done.stderr) == (
            1,
            b"An argument is not UTF-8, so no database can hold it.\n",
        )
