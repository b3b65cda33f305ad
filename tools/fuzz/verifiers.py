"""The scenario of the client libraries: answers, documents, archives and webhooks that a stranger made.

Whatever arrives, a library raises `Denied`, `Rejected` or `Unavailable`: anything else is a 500 for whoever
posts to a relying party's callback.
"""

import base64
import hmac
import json
import shutil
import subprocess
import sys
import time
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives.serialization import Encoding

from tests.forgery import BASE_URL, CLIENT_ID, NONCE, NOW, REDIRECT_URI, TAMPERINGS, Forger, Tampering
from tools.fuzz.gateway import Reply
from tools.fuzz.mutations import TEXTS, Mutator

if TYPE_CHECKING:
    from tools.fuzz.browser import Browser

STATE = "s" * 32
CLAIMS = ["given_name", "family_name", "age_equal_or_over.18"]
SECRET = "whsec_" + base64.b64encode(b"k" * 32).decode()
ALLOWED = ("Denied", "Rejected", "Unavailable")  # as docs and README promise
_NODE = Path(__file__).with_name("node_verifier.mjs")


def load_library() -> Any:
    """The Python library of this repository; its folder is on the path of the fuzzing process only."""
    return import_module("credential_presentation")


def verify(browser: "Browser") -> None:
    """Both libraries verify answers, read webhooks and check archives, genuine or changed anywhere."""
    mutator, account = browser.mutator, browser.runner.account
    for call in (*(forged(mutator) for _ in range(4)), webhook(mutator), posted(mutator)):
        got = decided(browser, call)
        if call["call"] == "finish" and got is not None:
            account.reached["answers accepted by the client libraries"] += 1
            decided(browser, {"call": "archive", "root": call["root"], "document": changed(mutator, got)})


def decided(browser: "Browser", call: dict[str, Any]) -> Any:
    """What the Python library gives; None if it refuses. The library for Node.js must decide the same."""
    library, runner, node = load_library(), browser.runner, _node()
    allowed = tuple(getattr(library, name) for name in ALLOWED)
    place = f"Python library: {call['call']}"
    got = runner.tried(browser.scenario, place, allowed, call, in_python, library, call)
    if node is not None:
        place = f"Node library: {call['call']}"
        accepted = runner.tried(browser.scenario, place, NodeRefusedError, call, in_node, node, call)
        if (got is None) != (accepted is None):
            accepting = "Python" if accepted is None else "Node"
            runner.note(f"only the {accepting} library accepts it", f"({call['call']})", repr(call), Reply())
    return got


def forged(mutator: Mutator) -> dict[str, Any]:
    """An answer and what the library has: genuine, forged as in the table of attacks, or changed."""
    rng, forger = mutator.rng, Forger()
    kind = rng.choice(("table", "signed", "signed", "chain", "sent"))

    def change(*parts: Any) -> None:
        for part in parts:
            if isinstance(part, dict) and rng.random() < 0.5:
                new = mutator.value(part)
                if isinstance(new, dict):
                    part.clear()
                    part.update(new)

    if kind == "chain":
        forger.chain = damaged(mutator, forger.chain)
    tampering = Tampering([], issue=change, bind=change, listed=change) if kind == "signed" else Tampering([])
    if kind == "table":
        tampering = rng.choice(list(TAMPERINGS.values()))
    vp_token: Any = forger.present(tampering)
    if kind == "sent" and mutator.turns(2):
        vp_token = rng.choice((mutator.segments(vp_token), mutator.value({"basic": [vp_token]})))
    published = {
        forger.base_url + path: content if isinstance(content, str) else mutator.json(content)
        for path, content in forger.documents().items()
    }
    pending = {
        "issuer": BASE_URL,
        "client_id": CLIENT_ID,
        "nonce": NONCE,
        "claims": CLAIMS,
        "transaction_data": tampering.expect.get("transactionData", []),
        "state": STATE,
        "begun": NOW,
    }
    fields: Any = {"vp_token": vp_token, "state": STATE, "iss": BASE_URL}
    if mutator.turns(0.2):
        fields = mutator.value(fields)
    return {
        "call": "finish",
        "root": forger.root.public_bytes(Encoding.PEM).decode(),
        "documents": published,
        "pending": pending,
        "fields": fields if isinstance(fields, dict) else {"vp_token": vp_token},
    }


def damaged(mutator: Mutator, chain: list[str]) -> list[str]:
    """Certificates with changed bytes, in another order, twice, or none."""
    rng, chain = mutator.rng, list(chain)
    place = rng.randrange(len(chain))
    match rng.randrange(6):
        case 0:
            rng.shuffle(chain)
        case 1:
            chain.insert(place, rng.choice(chain))
        case 2:
            del chain[place]
        case 3:
            chain[place] = rng.choice(TEXTS)
        case _:  # also within the version, the dates, the names and the extensions
            octets = bytearray(base64.b64decode(chain[place]))
            for _ in range(rng.choice((1, 1, 2, 8))):
                octets[rng.randrange(min(len(octets), rng.choice((16, 9999))))] = rng.randrange(256)
            chain[place] = base64.b64encode(octets).decode()
    return chain


def webhook(mutator: Mutator) -> dict[str, Any]:
    """The headers and body of a webhook, with a signature that fits unless they are changed afterwards."""
    body = mutator.json({"type": "consent.revoked", "timestamp": "2026-01-01T00:00:00Z", "data": {}})
    headers = {"webhook-id": "msg_1", "webhook-timestamp": str(int(time.time()))}
    signed = f"msg_1.{headers['webhook-timestamp']}.".encode() + body.encode("utf-8", "replace")
    own = base64.b64encode(hmac.digest(b"k" * 32, signed, "sha256")).decode()
    headers["webhook-signature"] = f"v1,{own}"
    for name in headers:
        if mutator.turns(0.5):
            headers[name] = mutator.text(headers[name])
    return {"call": "webhook", "headers": headers, "body": body.encode("utf-8", "replace").decode()}


def posted(mutator: Mutator) -> dict[str, Any]:
    """The fields at a response URI, of which the state is read."""
    header = base64.urlsafe_b64encode(
        mutator.json({"alg": "ECDH-ES", "kid": STATE}).encode("utf-8", "replace")
    )
    response = f"{header.decode().rstrip('=')}..a.b.c"
    fields = mutator.value({"state": STATE} if mutator.rng.random() < 0.5 else {"response": response})
    return {"call": "state_of", "fields": fields if isinstance(fields, dict) else {}}


def changed(mutator: Mutator, archive: str) -> str:
    """An archive with a change anywhere, at times."""
    return mutator.json(json.loads(archive)) if mutator.rng.random() < 0.6 else archive


def in_python(library: Any, call: dict[str, Any]) -> Any:
    """What the Python library says; the archive, if it accepts an answer."""
    match call["call"]:
        case "archive":
            return library.verify_archive(call["document"], call["root"])
        case "webhook":
            return library.read_webhook(call["headers"], call["body"].encode(), SECRET)
        case "state_of":
            return library.state_of(call["fields"])

    def fetch(request: Any) -> Any:
        if request.url not in call["documents"]:
            raise library.Unavailable(request.url)
        return library.Response(200, call["documents"][request.url].encode(), {"Cache-Control": "no-cache"})

    wallet = library.Wallet(
        BASE_URL, CLIENT_ID, REDIRECT_URI, root=call["root"], fetch=fetch, clock=lambda: float(NOW)
    )
    return wallet.finish(library.Pending(**call["pending"]), call["fields"]).archive()


class NodeRefusedError(Exception):
    """The library for Node.js raised one of the ALLOWED errors."""


class NodeError(Exception):
    """The library for Node.js raised another error."""


def in_node(process: "subprocess.Popen[str]", call: dict[str, Any]) -> bool:
    """True if the library for Node.js accepts it; raises `NodeRefusedError` or `NodeError`."""
    assert process.stdin and process.stdout  # noqa: PT018
    facts = {"now": NOW, "base_url": BASE_URL, "client_id": CLIENT_ID, "redirect_uri": REDIRECT_URI}
    process.stdin.write(json.dumps(call | facts | {"secret": SECRET}) + "\n")
    process.stdin.flush()
    ended = json.loads(process.stdout.readline())
    if ended["name"] in ALLOWED:
        raise NodeRefusedError(ended["name"])
    if ended["name"] != "accepted":
        raise NodeError(f"{ended['name']}: {ended['stack']}")
    return True


@cache
def _node() -> "subprocess.Popen[str] | None":
    """Node.js with its library, until this process ends; None if it is not installed."""
    if (node := shutil.which("node")) is None:
        print("Node.js is not installed, so its library is not tried.", file=sys.stderr, flush=True)
        return None
    return subprocess.Popen([node, str(_NODE)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
