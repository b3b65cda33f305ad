"""The code of docs/integrate.md runs as it is printed, in both languages, against a running service."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from clients.tests.packages import run
from credential_presentation.testing import fields_of, holder
from presentation.relying_parties.authentication import client_secrets
from presentation.webhooks import signing_secrets
from tests.people import register
from tests.project_copy import ROOT

pytestmark = [pytest.mark.node, pytest.mark.slow]
GUIDE = (ROOT / "docs" / "integrate.md").read_text()
MAIL = "sam@example.org"
CALLBACK, SERVICE = "http://127.0.0.1:5000/callback", "http://localhost:8000"  # as printed
SECRET = bytes(range(32))
NODE = """
import assert from "node:assert/strict";
import { fieldsOf, holder } from "credential-presentation/testing";
import { begin, beginPayment, finish, onWebhook, testAMinorIsRecognised, testANoIsANo } from "./guide.mjs";

const [example, webhook, secret] = process.argv.slice(2, 5);
const { body, ...headers } = JSON.parse(webhook);
const session = {}; // of two tabs
const first = await begin(session, "sam@example.org");
const second = await beginPayment(session, "sam@example.org", 12.5);
for (const [payments, url] of [first, second].entries()) {
  const fields = fieldsOf(await holder(url));
  const { claims, evidence } = await finish(session, fields);
  assert.deepEqual(claims, JSON.parse(example));
  assert.equal(JSON.parse(evidence).transaction_data.length, payments);
  assert.equal(await finish(session, fields), null);
}
assert.deepEqual(session, {});
await testAMinorIsRecognised();
await testANoIsANo();
assert.deepEqual(onWebhook(headers, Buffer.from(body), secret), ["credential.revoked", "n1"]);
assert.throws(() => onWebhook(headers, Buffer.from(`${body} `), secret), { name: "Rejected" });
"""


def snippets(fence: str) -> str:
    """All code of a language in the guide."""
    return "\n".join(re.findall(rf"```{fence}\n(.*?)```", GUIDE, re.DOTALL))


@pytest.fixture
def variables(service: Any, root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The environment of the guide's application, in a folder with the root certificate."""
    party = register("My Shop", CALLBACK)
    (tmp_path / "root.pem").write_text(root)
    monkeypatch.chdir(tmp_path)
    secret = client_secrets.rotate(party, now=timezone.now()).text
    return {"CLIENT_ID": party.client_id, "CLIENT_SECRET": secret}


@pytest.fixture
def printed(service: Any) -> Callable[[str], str]:
    """The code as it is printed, but with the address of this service."""
    return lambda fence: snippets(fence).replace(SERVICE, service.url)


def webhook(nonce_sha256: str) -> tuple[dict[str, str], str, str]:
    """Headers, body and secret of a webhook as the service signs it."""
    body = json.dumps({"type": "credential.revoked", "data": {"nonce_sha256": nonce_sha256}})
    headers = signing_secrets.signature_headers("one", body, secrets=[SECRET], now=datetime.now(UTC))
    return headers, body, signing_secrets.as_text(SECRET)


def test_the_code_for_python_works(
    printed: Any, variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    names: dict[str, Any] = {}
    exec(printed("python"), names)
    session: dict[str, str] = {}  # of two tabs
    begun = [names["begin"](session, MAIL), names["begin_payment"](session, MAIL, 12.5)]
    pending = names["Pending"].from_json(next(iter(session.values())))
    for payments, url in enumerate(begun):
        fields = fields_of(holder(url))
        claims, evidence = names["finish"](session, fields)
        assert claims == json.loads(snippets("json"))
        assert len(json.loads(evidence)["transaction_data"]) == payments
        assert names["finish"](session, fields) is None
    assert session == {}
    headers, body, secret = webhook(pending.nonce_sha256)
    event = names["on_webhook"](headers, body.encode(), secret)
    assert event == ("credential.revoked", pending.nonce_sha256)
    with pytest.raises(names["Rejected"]):
        names["on_webhook"](headers, body.encode() + b" ", secret)
    tests = [name for name in names if name.startswith("test_")]
    assert tests
    for name in tests:
        names[name]()


def test_the_code_for_node_works(printed: Any, variables: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "credential-presentation").symlink_to(ROOT / "clients" / "node")
    (tmp_path / "guide.mjs").write_text(printed("js"))
    (tmp_path / "run.mjs").write_text(NODE)
    headers, body, secret = webhook("n1")
    sent = json.dumps({"body": body, **headers})
    run("node", "run.mjs", snippets("json"), sent, secret, cwd=tmp_path, **variables)
