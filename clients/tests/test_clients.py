"""The client libraries, installed from the built packages: the attack table, and live with the service."""

import json
import random
import re
import shutil
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import sleep
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.utils import timezone
from joserfc import jwe
from joserfc.jwk import ECKey

import credential_presentation
from clients.tests.packages import Installed, Library, RefusedError, clean, install, run
from clients.tests.vectors import CLAIMS, STATE, case, vectors
from credential_presentation import Wallet
from credential_presentation.testing import fields_of, holder
from presentation.models import RelyingParty, ResponseURI
from presentation.relying_parties.authentication import client_secrets
from presentation.scopes import catalogue
from presentation.webhooks import signing_secrets
from tests.barriers import assert_no_barriers
from tests.forgery import BASE_URL, HONEST, NOW, Forger, Tampering, certificate, new_key, public_jwk
from tests.people import register
from tests.ports import free_port
from tests.presentation import payloads
from tests.presentation.openid_connect.shop import Shop
from tests.presentation.test_real_clients import private_jwk
from tests.presentation.test_verification import answered, verify
from tests.project_copy import ROOT
from tests.receiver import listening
from tests.relying_party import read_jwt

pytestmark = [pytest.mark.node, pytest.mark.slow]
LANGUAGES = ["python", "node"]
HOME = "https://shop.example/callback"
MAIL = "sam@example.org"
PAYMENT = {
    "type": payloads.ITEMIZED,
    "credential_ids": ["basic"],
    "payload": payloads.FULL[payloads.ITEMIZED] | {"title": "Weinkühler"},
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return install(tmp_path_factory.mktemp("clients"))


@pytest.fixture(scope="module", params=LANGUAGES)
def library(request: pytest.FixtureRequest, installed: Installed) -> Iterator[Library]:
    running = installed.starts(request.param)
    with running.process:  # closes its standard input and waits for its end
        yield running
    assert running.process.returncode == 0


def refusal(call: Callable[..., Any], *words: str, **arguments: Any) -> tuple[str, str]:
    """The exception of the library, and its code or check."""
    with pytest.raises(RefusedError) as refused:
        call(*words, **arguments)
    for private in ("Alice", "Müller", MAIL, "Weinkühler"):
        assert private not in refused.value.text
    return refused.value.kind, refused.value.code


# --- The attack table -------------------------------------------------------------------------------------


def decide(library: Library, vector: dict[str, Any]) -> Any:
    library("open", **vector["wallet"])
    return library("finish", pending=vector["pending"], fields=vector["fields"])


def test_it_is_the_installed_library_that_runs(library: Library, installed: Installed) -> None:
    assert library("open", **vectors()["as asked"]["wallet"]).startswith(str(installed.built.parent))


def test_the_attack_table_is_decided_rightly(library: Library) -> None:
    wrong = {}
    for name, vector in vectors().items():
        try:
            found = decide(library, vector)
            archived = library("archive", document=found["archive"], root=vector["wallet"]["root"])
            right = not vector["failing"] and archived["claims"] == [found["claims"]]
        except RefusedError as error:
            # A list that cannot be fetched is no forgery.
            unavailable = name == "a list that is not there" and error.kind == "Unavailable"
            right = error.code in vector["failing"] or unavailable
        if not right:
            wrong[name] = vector["failing"]
    assert wrong == {}
    assert len(vectors()) > 100


def changed(**issued: Any) -> dict[str, Any]:
    return case(Forger(), Tampering([], issue=lambda _h, payload, _s: payload.update(issued)), [])


def nested(depth: int) -> Any:
    return {"a": nested(depth - 1)} if depth else 1


def with_authority(**constraints: Any) -> dict[str, Any]:
    """A presentation under another issuing certificate in the middle of the chain."""
    forger, middle = Forger(), new_key()
    forger.issuing = certificate(
        "Issuing CA", forger.issuing_key, ("Root", forger.root_key), authority=True, **constraints
    )
    below = certificate("Below", middle, ("Issuing CA", forger.issuing_key), authority=True)
    leaf = certificate("Signer", forger.signing_key, ("Below", middle), authority=False)
    forger.publish([leaf, below, forger.issuing, forger.root])
    return case(forger, HONEST["as asked"], [])


def test_what_the_table_does_not_have(library: Library) -> None:
    assert decide(library, with_authority())["claims"]["given_name"] == "Alice"
    assert refusal(decide, library, changed(given_name="Alice")) == ("Rejected", "disclosures-form")
    for depth in (40, 400):
        kind, check = refusal(decide, library, changed(deep=nested(depth)))
        assert kind == "Rejected"
        assert check in ("disclosures-form", "claims")


def test_a_certificate_for_another_host_is_refused(library: Library) -> None:
    forger = Forger()
    issuer = ("Issuing CA", forger.issuing_key)
    leaf = certificate("Signer", forger.signing_key, issuer, authority=False, host="other.example")
    forger.publish([leaf, forger.issuing, forger.root])
    assert refusal(decide, library, case(forger, HONEST["as asked"], [])) == ("Rejected", "certificate-chain")


def test_an_answer_for_another_session_or_of_another_kind_is_refused(library: Library) -> None:
    vector = vectors()["as asked"]
    library("open", **vector["wallet"])
    token = vector["fields"]["vp_token"]
    fields: dict[str, tuple[Any, str]] = {
        "another state": ({"vp_token": token, "state": "t" * 32}, "state"),
        "no state": ({"vp_token": token}, "state"),
        "another issuer": ({"vp_token": token, "state": STATE, "iss": "https://evil.example"}, "iss"),
        "nothing": ({"state": STATE}, "structure"),
        "two presentations": ({"vp_token": json.dumps({"a": [token, token]}), "state": STATE}, "structure"),
        "an object of texts": ({"vp_token": json.dumps({"a": token}), "state": STATE}, "structure"),
        "broken JSON": ({"vp_token": "{", "state": STATE}, "structure"),
        "too long": ({"vp_token": token + "~" * 70_000, "state": STATE}, "structure"),
        "encrypted": ({"response": "a.b.c.d.e", "state": STATE}, "encryption"),
    }
    for name, (sent, check) in fields.items():
        found = refusal(library, "finish", pending=vector["pending"], fields=sent)
        assert found == ("Rejected", check), name
    as_object = {"vp_token": json.dumps({"basic": [token]}), "state": STATE, "iss": BASE_URL}
    assert library("finish", pending=vector["pending"], fields=as_object)["claims"]["given_name"] == "Alice"
    old = vector["pending"] | {"begun": NOW - 8000}
    assert refusal(library, "finish", pending=old, fields=vector["fields"]) == ("Rejected", "state")
    fewer = vector["pending"] | {"claims": CLAIMS[:2]}
    assert refusal(library, "finish", pending=fewer, fields=vector["fields"]) == ("Rejected", "claims")
    more = vector["pending"] | {"claims": [*CLAIMS, "nationalities"]}
    assert refusal(library, "finish", pending=more, fields=vector["fields"]) == ("Rejected", "claims")
    optional = vector["pending"] | {"claims": [*CLAIMS, "nationalities?"]}
    assert library("finish", pending=optional, fields=vector["fields"])["claims"]["given_name"] == "Alice"


def test_an_error_is_no_forgery_and_writes_no_line_into_a_log(library: Library) -> None:
    vector = vectors()["as asked"]
    library("open", **vector["wallet"])
    sent = {"state": STATE, "error": "access_denied\nadmin signed in", "error_description": "no\n<b>"}
    with pytest.raises(RefusedError) as refused:
        library("finish", pending=vector["pending"], fields=sent)
    assert refused.value.kind == "Denied"
    assert refused.value.code == "access_deniedadminsignedin"
    assert "\n" not in refused.value.text


def test_whatever_is_changed_in_a_presentation_it_is_refused(library: Library) -> None:
    vector, drawn = vectors()["as asked"], random.Random(NOW)
    library("open", **vector["wallet"])
    token = vector["fields"]["vp_token"]
    for _ in range(200):
        place = drawn.randrange(len(token))
        other = drawn.choice([*"AZaz09-_.~=é{", "", "~~", "A" * 99])
        changed_token = token[:place] + other + token[place + 1 :]
        if changed_token != token:
            fields = {"vp_token": changed_token, "state": STATE}
            kind, _check = refusal(library, "finish", pending=vector["pending"], fields=fields)
            assert kind == "Rejected"


# --- Archives ---------------------------------------------------------------------------------------------


def test_no_part_of_an_archive_can_be_changed(library: Library) -> None:
    vector = vectors()["with two transactions"]
    root = vector["wallet"]["root"]
    kept = json.loads(decide(library, vector)["archive"])
    other = json.loads(decide(library, vectors()["as asked"])["archive"])
    token = kept["presentations"][0]
    for change in (
        {"presentations": []},
        {"presentations": [token.replace("~", "~W10~", 1)]},
        {"presentations": other["presentations"]},
        {"transaction_data": kept["transaction_data"][:1]},
        {"transaction_data": [*kept["transaction_data"], "e30"]},
        {"certificates": [*kept["certificates"], "AAAA"]},
        {"status_lists": []},
        {"status_lists": other["status_lists"]},
        {"status_lists": "none"},
        {"statement": "a.b.c"},
        {"statement": None},
        {"statement": kept["status_lists"][0]},
    ):
        document = json.dumps(kept | change)
        assert refusal(library, "archive", document=document, root=root)[0] == "Rejected", change
    for text in ("", "[]", "{}", "null", "[" * 5000, " " * 4_000_001):
        assert refusal(library, "archive", document=text, root=root) == ("Rejected", "structure")
    foreign = vectors()["as asked"]["wallet"]["root"]
    assert refusal(library, "archive", document=json.dumps(kept), root=foreign)[0] == "Rejected"


# --- Webhooks ---------------------------------------------------------------------------------------------

OLD, NEW = bytes(range(32)), bytes(range(32, 64))


def test_webhooks_are_verified_with_the_old_and_the_new_secret(library: Library) -> None:
    body, texts = (
        '{"type": "presentation.completed", "data": {}}',
        list(map(signing_secrets.as_text, (OLD, NEW))),
    )
    both = signing_secrets.signature_headers("one", body, secrets=[OLD, NEW], now=datetime.now(UTC))
    alone = signing_secrets.signature_headers("one", body, secrets=[NEW], now=datetime.now(UTC))
    for headers, secrets in ((both, texts[:1]), (both, texts[1:]), (alone, texts)):
        assert library("webhook", headers=headers, body=body, secrets=secrets)["data"] == {}
    wrong: list[dict[str, Any]] = [
        {"secrets": texts[:1]},
        {"secrets": []},
        {"body": body + " "},
        {"body": "x" * 70_000},
        {"headers": {}},
        {"headers": alone | {"webhook-id": "two"}},
        {"headers": alone | {"webhook-signature": "v1,é " * 500}},
        {"headers": alone | {"webhook-timestamp": str(int(alone["webhook-timestamp"]) + 1)}},
        {"headers": alone | {"webhook-timestamp": "٣"}},
    ]
    for seconds in (-400, 400):
        at = datetime.fromtimestamp(datetime.now(UTC).timestamp() + seconds, UTC)
        wrong += [{"headers": signing_secrets.signature_headers("one", body, secrets=[NEW], now=at)}]
    for change in wrong:
        asked = {"headers": alone, "body": body, "secrets": texts[1:]} | change
        assert refusal(library, "webhook", **asked) == ("Rejected", "webhook"), change
    array = signing_secrets.signature_headers("one", "[]", secrets=[NEW], now=datetime.now(UTC))
    assert refusal(library, "webhook", headers=array, body="[]", secrets=texts)[0] == "Rejected"


# --- Live -------------------------------------------------------------------------------------------------


@pytest.fixture
def opened(service: Any, root: str, library: Library) -> Callable[..., Any]:
    """Makes the library's wallet for a relying party; returns the library."""

    def opened(party: RelyingParty, redirect_uri: str = HOME, **options: Any) -> Library:
        facts = {
            "base_url": service.url,
            "client_id": party.client_id,
            "redirect_uri": redirect_uri,
            "root": root,
        }
        library("open", **facts, **options)
        return library

    return opened


def shop(**fields: Any) -> RelyingParty:
    return register("My Shop", HOME, allowed_scopes=list(catalogue.current()), **fields)


def asked(library: Library, holder: dict[str, Any] | None = None, **asking: Any) -> dict[str, Any]:
    """A request that the sandbox's holder answered: its `url`, `pending` and the posted `fields`."""
    request = library("request", login_hint=MAIL, **asking)
    return {**request, **library("holder", url=request["url"], **(holder or {}))}


def finish(library: Library, answer: dict[str, Any], **fields: Any) -> Any:
    return library("finish", pending=answer["pending"], fields=answer["fields"] | fields)


def test_a_payment_is_agreed_to_and_archived(opened: Any, root: str, service: Any) -> None:
    party = shop()
    library = opened(party)
    answer = asked(library, transaction_data=[PAYMENT])

    found = finish(library, answer)

    assert found["claims"] == {
        "given_name": "Alice",
        "family_name": "Example",
        "age_equal_or_over": {"18": True},
    }
    archived = library("archive", document=found["archive"], root=root)
    assert (archived["claims"], archived["stated"]) == ([found["claims"]], False)
    facts = (archived["issuer"], archived["client_id"], archived["nonce"])
    assert facts == (service.url, party.client_id, answer["pending"]["nonce"])
    assert abs(archived["time"] - datetime.now(UTC).timestamp()) < 60
    assert library("milliseconds", pending=answer["pending"], fields=answer["fields"]) < 100


def test_an_answer_is_for_one_request(opened: Any) -> None:
    library = opened(shop())
    first, second = asked(library), asked(library)
    assert refusal(finish, library, first, state=second["pending"]["state"]) == ("Rejected", "state")
    swapped = first | {"fields": second["fields"] | {"state": first["pending"]["state"]}}
    assert refusal(finish, library, swapped) == ("Rejected", "kb-nonce")


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_empty_secret_is_no_request_without_one(service: Any, root: str, language: str) -> None:
    """The environment variable was forgotten; the request would be in an address."""
    if language == "python":
        with pytest.raises(ValueError, match="secret is empty"):
            Wallet(service.url, "client", "http://127.0.0.1/callback", root=root, secret="")
    else:
        options = json.dumps({"root": root, "secret": ""})
        module = ROOT / "clients" / "node" / "index.js"
        code = f'import {{ Wallet }} from "{module}"; new Wallet("{service.url}", "client", "x:", {options});'
        done = subprocess.run(["node", "--input-type=module", "-e", code], capture_output=True, text=True)
        assert "secret is empty" in done.stderr


def test_a_no_is_denied(opened: Any) -> None:
    library = opened(shop())
    answer = asked(library, holder={"decision": "decline"})
    assert refusal(finish, library, answer) == ("Denied", "access_denied")


def test_other_scopes_and_claims_are_requested(opened: Any, service: Any) -> None:
    library = opened(shop())
    both = asked(library, scope="identity contact", holder={"optional": ["nationalities"]})
    assert set(finish(library, both)["claims"]) == {"birth_date", "nationalities", "email"}
    without = asked(library, scope="identity")
    assert set(finish(library, without)["claims"]) == {"birth_date"}
    query = {
        "id": "drinks",
        "format": "dc+sd-jwt",
        "meta": {"vct_values": [f"{service.url}/credential-types/identity/v1"]},
        "claims": [{"path": ["age_equal_or_over", "18"]}],
    }
    named = asked(library, dcql_query=json.dumps({"credentials": [query]}), claims=["age_equal_or_over.18"])
    assert finish(library, named)["claims"] == {"age_equal_or_over": {"18": True}}


def test_the_wire_format_of_openid4vp_is_read(opened: Any) -> None:
    library = opened(shop(wire_format="openid4vp-1.0"))
    answer = asked(library)
    assert answer["fields"]["vp_token"].startswith("{")
    assert finish(library, answer)["claims"]["given_name"] == "Alice"


def test_requests_are_pushed_with_a_secret(opened: Any) -> None:
    party = shop(requires_pushed_requests=True)
    library = opened(party, secret=client_secrets.rotate(party, now=timezone.now()).text)
    answer = asked(library)
    assert set(dict(parse_qsl(urlsplit(answer["url"]).query))) == {"client_id", "request_uri"}
    assert finish(library, answer)["claims"]["given_name"] == "Alice"
    wrong = {"scope": "urn:no:scope", "claims": ["email"]}
    assert refusal(library, "request", login_hint=MAIL, **wrong) == ("Denied", "invalid_scope")
    library = opened(party, secret="wrong")
    assert refusal(library, "request", login_hint=MAIL) == ("Denied", "invalid_client")


@pytest.mark.parametrize("wire_format", ["string", "openid4vp-1.0"])
@pytest.mark.parametrize("mode", ["direct_post", "direct_post.jwt"])
def test_a_posted_answer_is_read(opened: Any, mode: str, wire_format: str) -> None:
    party = shop(wire_format=wire_format)
    with listening() as receiver:
        ResponseURI.objects.create(relying_party=party, uri=receiver.uri)
        receiver.redirects_to(f"{HOME}?response_code=1")
        library = opened(party, receiver.uri)
        answer = asked(library, response_mode=mode)
        declined = asked(library, response_mode=mode, holder={"decision": "decline"})
        forms = [dict(parse_qsl(each.body)) for each in receiver.posted]
    fields, refused = forms
    assert ("response" in fields) == (mode == "direct_post.jwt")
    assert library("state_of", fields=fields) == answer["pending"]["state"]
    found = finish(library, answer | {"fields": fields})
    assert found["claims"]["given_name"] == "Alice"
    assert refusal(finish, library, declined | {"fields": refused}) == ("Denied", "access_denied")
    if mode == "direct_post.jwt":
        token = {"vp_token": found["vp_token"], "state": answer["pending"]["state"]}
        assert refusal(finish, library, answer | {"fields": token}) == ("Rejected", "encryption")
        for place in range(5):
            parts = fields["response"].split(".")
            parts[place] = parts[place][:-4] + "AAAA" if parts[place] else "AAAA"
            sent = {"response": ".".join(parts)}
            assert refusal(finish, library, answer | {"fields": sent})[0] == "Rejected"


@pytest.mark.parametrize(
    "others", [{}, {"enc": "A128GCM"}, {"enc": "A128CBC-HS256"}, {"apu": "QQ"}, {"apv": "QQ"}]
)
def test_answers_that_another_library_encrypted_are_read(library: Library, others: dict[str, str]) -> None:
    """joserfc encrypts to a key that the test chose. Only what the library offered is read."""
    vector, key = vectors()["as asked"], new_key()
    library("open", **vector["wallet"])
    jwk = private_jwk(key, STATE)
    header = {"alg": "ECDH-ES", "enc": "A256GCM", "kid": STATE} | others
    algorithms = ["ECDH-ES", header["enc"]]
    public = ECKey.import_key(public_jwk(key))
    sent = jwe.encrypt_compact(header, json.dumps(vector["fields"]).encode(), public, algorithms=algorithms)
    asked = {"pending": vector["pending"] | {"decryption_key": jwk}, "fields": {"response": sent}}
    if others:
        assert refusal(library, "finish", **asked) == ("Rejected", "encryption")
    else:
        assert library("finish", **asked)["claims"]["given_name"] == "Alice"


def test_the_evidence_of_openid_connect_is_verified(
    opened: Any, client: Any, alice: Any, sign_in: Any
) -> None:
    shop = Shop.registered()
    sign_in(alice)
    library = opened(shop.party)
    tokens = shop.tokens(client, nonce="short")
    claims = ["given_name", "family_name"]
    expected = {"vp_token": tokens["vp_token"], "nonce": tokens["vp_nonce"]}
    assert library("verify", **expected, claims=claims)["claims"]["given_name"] == "Alice"
    assert library("verify", **expected)["claims"]["given_name"] == "Alice"
    assert refusal(library, "verify", **expected, claims=claims[:1]) == ("Rejected", "claims")
    assert refusal(library, "verify", **expected | {"nonce": "another"}) == ("Rejected", "kb-nonce")


def test_the_evidence_of_the_service_is_the_same_document_with_its_statement(opened: Any, root: str) -> None:
    party = shop(grants=["presentation:verify"])
    library = opened(party)
    answer = asked(library, transaction_data=[PAYMENT])
    kept = json.loads(finish(library, answer)["archive"])
    data = answer["pending"]["transaction_data"]
    body = {"nonce": answer["pending"]["nonce"], "transaction_data": data, "evidence": True}
    evidence = answered(verify(party, {"vp_token": answer["fields"]["vp_token"], **body}))["evidence"]

    assert {*kept, "statement"} == set(evidence)
    for part in ("presentations", "transaction_data", "certificates"):
        assert kept[part] == evidence[part]
    stated = library("archive", document=json.dumps(evidence), root=root)
    assert (stated["stated"], stated["client_id"]) == (True, party.client_id)
    assert stated["time"] == read_jwt(evidence["statement"]).payload["iat"]
    for part in ("transaction_data", "certificates", "status_lists"):
        other = evidence | {part: [*evidence[part], evidence[part][0]]}
        assert refusal(library, "archive", document=json.dumps(other), root=root) == ("Rejected", "statement")
    invalid = answered(
        verify(party, {"vp_token": answer["fields"]["vp_token"], **body, "transaction_data": []})
    )
    document = json.dumps(invalid["evidence"])
    assert refusal(library, "archive", document=document, root=root) == ("Rejected", "statement")


def test_a_service_that_is_not_there_is_unavailable(library: Library, root: str) -> None:
    facts = {"base_url": "http://127.0.0.1:9", "client_id": "shop", "redirect_uri": HOME, "root": root}
    library("open", **facts, secret="x")
    assert refusal(library, "request")[0] == "Unavailable"
    library("open", **facts)
    pending = library("request")["pending"]
    token = vectors()["as asked"]["fields"]["vp_token"]
    assert refusal(library, "holder", url="http://127.0.0.1:9/verifiable-credentials/")[0] == "Unavailable"
    assert refusal(library, "finish", pending=pending, fields={"vp_token": token, "state": pending["state"]})


class Strange(BaseHTTPRequestHandler):
    """A service whose discovery document is not what it should be; the path says what it is."""

    def do_GET(self) -> None:
        kind = self.path.split("/")[1]
        self.send_response({"moved": 302, "broken": 500}.get(kind, 200))
        self.send_header("Location", "/long/")
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(b" " * (2**23 + 1) + b"{}" if kind == "long" else b"[]")

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_redirects_and_long_documents_are_not_followed_to_their_end(library: Library) -> None:
    vector = vectors()["as asked"]
    with ThreadingHTTPServer(("127.0.0.1", 0), Strange) as server:
        threading.Thread(target=server.serve_forever).start()
        for kind in ("moved", "broken", "long", "array"):
            base_url = f"http://127.0.0.1:{server.server_port}/{kind}"
            wallet = {name: vector["wallet"][name] for name in ("client_id", "redirect_uri", "root")}
            library("open", base_url=base_url, **wallet)
            forger = Forger(base_url=base_url)
            pending = library("request")["pending"]
            fields = {"vp_token": forger.present(HONEST["as asked"]), "state": pending["state"]}
            found = refusal(library, "finish", pending=pending, fields=fields)
            assert found == ("Unavailable", ""), kind
        server.shutdown()


# --- What developers write --------------------------------------------------------------------------------

TYPESCRIPT = """
import { Wallet, Denied, verifyArchive, readWebhook } from "credential-presentation";
import type { Pending, Result } from "credential-presentation";
import { holder, fieldsOf } from "credential-presentation/testing";
const wallet = new Wallet("https://w.example", "id", "https://s.example/", { root: "pem", secret: "s" });
export async function done(fields: Record<string, string>): Promise<string | undefined> {
  const begun: { url: string; pending: Pending } = await wallet.request({ login_hint: "a@b.example" });
  const { url, pending } = begun;
  const kept: Pending = JSON.parse(JSON.stringify(pending));
  try {
    const answer = fieldsOf(await holder(url, { decision: "share" }));
    const result: Result = await wallet.finish(kept, answer);
    const { time }: { time: number } = await verifyArchive(result.archive(), "pem");
    const told: string = readWebhook(fields, new Uint8Array(), "whsec_").type;
    return `${result.claims["given_name"]} ${time} ${told}`;
  } catch (error) {
    if (error instanceof Denied) return error.code;
    throw error;
  }
}
// @ts-expect-error: the root is demanded
new Wallet("https://w.example", "id", "https://s.example/callback", {});
// @ts-expect-error: claims are a list
await wallet.request({ claims: "given_name" });
"""
PYTHON = """
from credential_presentation import Denied, Pending, Result, Wallet, read_webhook, verify_archive
from credential_presentation.testing import fields_of, holder

wallet = Wallet("https://w.example", "id", "https://s.example/callback", root="pem", secret="s")

def done(fields: dict[str, str]) -> str:
    url, pending = wallet.request(login_hint="a@b.example")
    kept: Pending = Pending.from_json(pending.to_json())
    try:
        result: Result = wallet.finish(kept, fields_of(holder(url, decision="share")))
    except Denied as error:
        return error.code
    time: int = verify_archive(result.archive(), "pem").time
    return f"{time} {read_webhook(fields, b'', 'whsec_')['type']}"

Wallet("https://w.example", "id", "https://s.example/callback")  # type: ignore[call-arg]
wallet.request(claims=3)  # type: ignore[arg-type]
"""


def test_strict_types_of_a_users_file(installed: Installed) -> None:
    (installed.node / "use.mts").write_text(TYPESCRIPT)
    tsc = installed.node / "node_modules" / "typescript" / "bin" / "tsc"
    options = ["--strict", "--noEmit", "--target", "es2022", "--module", "nodenext", "--types", "node"]
    run(tsc, *options, "use.mts", cwd=installed.node)
    (installed.built / "use.py").write_text(PYTHON)
    mypy = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file=",
        "--python-executable",
        installed.python,
    ]
    run(*mypy, "--cache-dir=/dev/null", "use.py", cwd=installed.built)


@pytest.fixture(params=LANGUAGES)
def example(
    request: pytest.FixtureRequest, installed: Installed, service: Any, root: str, tmp_path: Path
) -> Iterator[str]:
    """The address of a running example application."""
    address = f"http://127.0.0.1:{free_port()}"
    party = register("My Shop", f"{address}/callback")
    (tmp_path / "root.pem").write_text(root)
    variables = {
        "WALLET_URL": service.url,
        "CLIENT_ID": party.client_id,
        "CLIENT_SECRET": client_secrets.rotate(party, now=timezone.now()).text,
        "WALLET_ROOT": str(tmp_path / "root.pem"),
        "SHOP_URL": address,
    }
    examples = ROOT / "docs" / "examples"
    if request.param == "python":
        port = str(urlsplit(address).port)
        command = [
            installed.python,
            "-m",
            "flask",
            "--app",
            examples / "flask_shop.py",
            "run",
            "--port",
            port,
        ]
    else:
        command = ["node", Path(shutil.copy(examples / "express_shop.mjs", installed.node))]
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, env=clean() | variables, **silent) as running:
        for _ in range(600):
            with suppress(OSError), urllib.request.urlopen(address, timeout=1):
                break
            sleep(0.1)
        yield address
        running.terminate()


def answered_by_holder(page: Any, shop: str, **choices: Any) -> str:
    """Begins at the shop; the sandbox's holder answers. Returns where the browser is to go."""
    with page.expect_request(lambda request: "/presentation/authorize?" in request.url) as leaving:
        page.goto(shop)
        page.get_by_role("link", name="Prove your age").click()
    return str(holder(leaving.value.url, **choices))


@pytest.mark.browser
def test_the_examples_let_people_in_and_keep_others_out(page: Any, example: str) -> None:
    answer = answered_by_holder(page, example)
    page.goto(answer)
    page.get_by_text("Welcome, Alice!").wait_for()
    assert page.url == f"{example}/callback"
    page.goto("about:blank")
    page.goto(answer)  # the answer is used once
    page.get_by_text("Please start again.").wait_for()
    page.goto(answered_by_holder(page, example, persona="under-18"))
    page.get_by_text("You are too young.").wait_for()
    page.goto(answered_by_holder(page, example, decision="decline"))
    page.get_by_text("You were not let in.").wait_for()
    page.goto(answered_by_holder(page, example).replace("vp_token=", "vp_token=x"))
    page.get_by_text("We cannot accept this answer.").wait_for()


@pytest.mark.browser
def test_the_callback_page_has_words_for_everything_else(page: Any, browser: Any, example: str) -> None:
    page.goto(f"{example}/callback")
    assert page.get_by_role("status").inner_text() == "There is no answer here."
    assert page.get_by_role("link").inner_text() == "back to the start"
    page.goto("about:blank")
    page.add_init_script("HTMLFormElement.prototype.submit = () => {}")  # the submission fails
    page.goto(f"{example}/callback#vp_token=x&state=y&state=z&<img src=x onerror=alert(1)>=1")
    page.get_by_role("button", name="Continue").wait_for()
    assert page.get_by_role("status").inner_text() == "Your answer is being sent."
    assert page.url == f"{example}/callback"
    assert page.locator("input").evaluate_all("all => all.map(({ name }) => name)") == ["vp_token"]

    without = browser.new_context(java_script_enabled=False).new_page()
    without.goto(f"{example}/callback#vp_token=x&state=y")
    assert "your browser runs no scripts" in without.locator("main").inner_text()
    without.context.close()

    inspected = browser.new_context(bypass_csp=True).new_page()
    inspected.goto(f"{example}/callback")
    assert_no_barriers(inspected)
    inspected.context.close()


def snippets(language: str) -> list[str]:
    """The paragraphs of code in a library's README, in order."""
    folder, fence = ("python", "python") if language == "python" else ("node", "js")
    text = (ROOT / "clients" / folder / "README.md").read_text()
    blocks = re.findall(rf"```{fence}\n(.*?)```", text, re.DOTALL)
    return [paragraph for block in blocks for paragraph in block.split("\n\n")]


def test_the_code_in_the_readme_for_python_works(service: Any, root: str) -> None:
    names: dict[str, Any] = {"base_url": service.url, "client_id": shop().client_id, "redirect_uri": HOME}
    names |= {"pem": root, "email": MAIL, "session": {}} | vars(credential_presentation)
    setup, request, answer, *testing = snippets("python")
    exec(f"{setup}\n{request}", names)
    names["posted_fields"] = fields_of(holder(names["url"]))
    exec("\n".join([answer, *testing]), names)
    assert names["claims"]["given_name"] == "Alice"


def test_the_code_in_the_readme_for_node_works(service: Any, root: str, installed: Installed) -> None:
    setup, request, answer, imported, testing = snippets("node")
    given = {
        "baseUrl": service.url,
        "clientId": shop().client_id,
        "redirectUri": HOME,
        "pem": root,
        "email": MAIL,
    }
    script = f"""
import assert from "node:assert/strict";
import {{ Wallet }} from "credential-presentation";
{imported}
const {{ baseUrl, clientId, redirectUri, pem }} = {json.dumps(given)}, email = "{MAIL}", session = {{}};
{setup}
{{
  {request}
  const postedFields = fieldsOf(await holder(url));
  {answer}
  assert.equal(claims.given_name, "Alice");
}}
{testing}
"""
    (installed.node / "readme.mjs").write_text(script)
    run("node", "readme.mjs", cwd=installed.node)
