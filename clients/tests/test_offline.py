"""The installed client libraries without a service: vectors, archives, webhooks, broken servers."""

import json
import random
import threading
from contextlib import suppress
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from joserfc import jwe
from joserfc.jwk import ECKey

from clients.tests.packages import HOME, LANGUAGES, Installed, Library, RefusedError, in_node, refusal
from clients.tests.vectors import STATE, vectors, write
from credential_presentation import read_webhook
from credential_presentation.jose import decode, encode
from presentation.webhooks import signing_secrets
from tests.forgery import HONEST, NOW, Forger, new_key, public_jwk
from tests.ports import free_port
from tests.presentation.clients import private_jwk

pytestmark = [pytest.mark.node, pytest.mark.slow]


def decide(library: Library, vector: dict[str, Any]) -> Any:
    library("open", **vector["wallet"])
    return library("finish", pending=vector["pending"], fields=vector["fields"])


def test_it_is_the_installed_library_that_runs(library: Library, installed: Installed) -> None:
    assert library("open", **vectors()["as asked"]["wallet"]).startswith(str(installed.built.parent))


def test_both_libraries_decide_the_one_file_of_vectors_rightly(installed: Installed, tmp_path: Path) -> None:
    write(file := tmp_path / "vectors.json")
    cases, decided = json.loads(file.read_text()), {}
    for language in LANGUAGES:
        with (library := installed.starts(language)).process:
            decided[language] = library("vectors", file=str(file))
    wrong = {
        (language, name): (refused.get(name), case["failing"])
        for language, refused in decided.items()
        for name, case in cases.items()
        if refused.get(name) not in (case["failing"] or [""])
    }
    assert wrong == {}
    assert len(cases) > 120


def test_an_answer_to_another_client_of_the_same_server_is_refused(library: Library) -> None:
    """The request may come from a cookie that both have sealed with one key."""
    vector = vectors()["as asked"]
    library("open", **vector["wallet"] | {"client_id": "corner-shop"})
    assert refusal(library, "finish", pending=vector["pending"], fields=vector["fields"]) == (
        "Rejected",
        "kb-aud",
    )


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


def claiming(token: str, **payload: Any) -> str:
    """The token with these members in its payload; its signature no longer verifies."""
    head, body, rest = token.split(".", 2)
    return f"{head}.{encode(json.dumps(json.loads(decode(body)) | payload).encode())}.{rest}"


def test_no_part_of_an_archive_can_be_changed(library: Library) -> None:
    vector = vectors()["with two transactions"]
    root = vector["wallet"]["root"]
    kept = json.loads(decide(library, vector)["archive"])
    other = json.loads(decide(library, vectors()["as asked"])["archive"])
    token = kept["presentations"][0]
    issued, _shown, *others, binding = token.split("~")
    for change in (
        {"presentations": [token, token]},
        {"presentations": [token, "~".join([issued, *others, binding])]},
        {"more": []},
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
        # `iss` is the sender's until the signature is verified.
        {"presentations": [claiming(token, iss="https://[x")]},
        # A status list that nobody needs would not be verified, but could move the time of the archive.
        {
            "status_lists": [
                *kept["status_lists"],
                claiming(kept["status_lists"][0], sub="https://x", iat=NOW + 250),
            ]
        },
        {"status_lists": [*kept["status_lists"], *other["status_lists"]]},
        {"status_lists": [*other["status_lists"], *kept["status_lists"]]},
    ):
        document = json.dumps(kept | change)
        assert refusal(library, "archive", document=document, root=root)[0] == "Rejected", change
    for text in ("", "[]", "{}", "null", "[" * 5000, " " * 4_000_001):
        assert refusal(library, "archive", document=text, root=root) == ("Rejected", "structure")
    foreign = vectors()["as asked"]["wallet"]["root"]
    assert refusal(library, "archive", document=json.dumps(kept), root=foreign)[0] == "Rejected"


# --- Cookies ----------------------------------------------------------------------------------------------


def test_what_was_sealed_is_opened_with_its_key_and_unchanged_only(library: Library) -> None:
    key, drawn = "k" * 32, random.Random(NOW)
    pending = vectors()["with two transactions"]["pending"] | {"transaction_data_hashes": []}
    kept = library("through_a_cookie", pending=pending, key=key, keys=[key])
    again = library("through_a_cookie", pending=kept["pending"], key=key, keys=[key])
    assert again["pending"] == kept["pending"]
    assert kept["text"] != again["text"]
    assert pending["nonce"] not in kept["text"]
    for wrong in (["o" * 32], [], ["o" * 32, "p" * 32]):
        assert refusal(library, "opened", text=kept["text"], keys=wrong) == ("Rejected", "state")
    for _ in range(100):
        place = drawn.randrange(len(kept["text"]))
        text = kept["text"][:place] + drawn.choice([*"Ab0_-", "", "AA"]) + kept["text"][place + 1 :]
        if text != kept["text"]:
            assert refusal(library, "opened", text=text, keys=[key])[0] == "Rejected"
    for text in ("", "A", "AAAA", "é", "A" * 9999, kept["text"][:43], kept["text"][:64], None):
        assert refusal(library, "opened", text=text, keys=[key])[0] == "Rejected", text
    assert refusal(library, "through_a_cookie", pending=pending, key="k" * 31, keys=[])[0] in MISTAKES
    many = pending | {"claims": [f"claim_{number}" for number in range(300)]}
    assert refusal(library, "through_a_cookie", pending=many, key=key, keys=[])[0] in MISTAKES


MISTAKES = ("ValueError", "TypeError")

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


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec", "whsec_AAAA", "A" * 43, None])
def test_a_webhook_secret_that_is_missing_is_a_clear_mistake(secret: Any) -> None:
    """Anybody could sign with the empty key of a variable that is not set."""
    with pytest.raises(ValueError, match="a webhook secret is missing or incomplete"):
        read_webhook({}, b"{}", secret)
    said = in_node(f"library.readWebhook({{}}, Buffer.from('{{}}'), {json.dumps(secret)});")
    assert "TypeError: a webhook secret is missing or incomplete" in said


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


def test_a_service_that_is_not_there_is_unavailable(library: Library, root: str) -> None:
    nowhere = f"http://127.0.0.1:{free_port()}"
    facts = {"base_url": nowhere, "client_id": "shop", "redirect_uri": HOME, "root": root}
    library("open", **facts, secret="x")
    with pytest.raises(RefusedError, match="ECONNREFUSED|ConnectionRefusedError"):
        library("request")
    library("open", **facts)
    pending = library("request")["pending"]
    token = vectors()["as asked"]["fields"]["vp_token"]
    assert refusal(library, "holder", url=f"{nowhere}/verifiable-credentials/")[0] == "Unavailable"
    assert refusal(library, "finish", pending=pending, fields={"vp_token": token, "state": pending["state"]})


class Strange(BaseHTTPRequestHandler):
    """A service whose discovery document is not what it should be; the path says what it is."""

    def do_GET(self) -> None:
        kind = self.path.split("/")[1]
        if kind == "dripping":
            with suppress(OSError):  # once the library has given up
                self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
                for _ in range(20_000):
                    self.wfile.write(b"a")
                    sleep(0.05)
            return
        self.send_response({"moved": 302, "broken": 500}.get(kind, 200))
        self.send_header("Location", "/long/")
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(b" " * (2**23 + 1) + b"{}" if kind == "long" else b"[]")

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_redirects_and_endless_documents_are_not_followed_to_their_end(library: Library) -> None:
    """A header that comes byte by byte begins the timeout of the socket anew, but not that of the call."""
    vector = vectors()["as asked"]
    with ThreadingHTTPServer(("127.0.0.1", 0), Strange) as server:
        threading.Thread(target=server.serve_forever).start()
        for kind in ("moved", "broken", "long", "array", "dripping"):
            base_url = f"http://127.0.0.1:{server.server_port}/{kind}"
            wallet = {name: vector["wallet"][name] for name in ("client_id", "redirect_uri", "root")}
            library("open", base_url=base_url, **wallet)
            forger = Forger(base_url=base_url)
            pending = library("request")["pending"]
            fields = {"vp_token": forger.present(HONEST["as asked"]), "state": pending["state"]}
            found = refusal(library, "finish", pending=pending, fields=fields)
            assert found == ("Unavailable", ""), kind
        server.shutdown()
