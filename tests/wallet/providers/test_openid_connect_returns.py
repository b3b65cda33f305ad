"""What a browser may bring back from an OpenID provider: anything at all, and only our own counts."""

import hashlib
import uuid
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.ports import free_port
from tests.wallet.providers.openid_providers import client_key
from wallet.providers import registry
from wallet.providers.contract import Check, Message, MessageRefusedError, ProviderError

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
ISSUER, STATE = "https://bank.example", "s" * 43
REFERENCE = hashlib.sha256(STATE.encode()).hexdigest()
SETTINGS = {
    "type": "openid_connect",
    "issuer": ISSUER,
    "client_id": "us",
    "client_key": client_key(),
    "assurance": "eidas high",
}
bank = registry.load("bank", SETTINGS, own_framework="https://id.example/assurance", loopback=False)
queries = st.fixed_dictionaries(
    {},
    optional={
        "state": st.just(STATE) | st.text(max_size=50),
        "iss": st.just(ISSUER) | st.text(max_size=20),
        "code": st.text(max_size=20) | st.just("x" * 5000),
        "error": st.sampled_from(["access_denied", "server_error"]) | st.text(max_size=80),
        "other": st.text(max_size=10),
    },
)
memories = st.sampled_from([{}, {"names_issuer": True}, {"code": "a"}, {"error": "access_denied"}])


def check_with(memory: dict[str, object]) -> Check:
    base = "https://id.example/wallet/identity/"
    return Check(
        id=uuid.uuid4(),
        redirect_task_id=None,
        email="nora@example.com",
        reference=REFERENCE,
        memory=memory,
        submissions=0,
        submitted=False,
        began_at=NOW,
        return_url=f"{base}x/return/",
        messages_url=f"{base}bank/",
    )


@given(queries, memories)
@example({"state": STATE, "code": "a"}, {})
@example({"state": STATE, "iss": ISSUER, "error": "access_denied"}, {"names_issuer": True})
@example({"state": STATE, "code": "another"}, {"code": "a"})
@example({"state": STATE, "code": "a"}, {"code": "a"})
def test_a_return_is_refused_or_remembered(query: dict[str, str], memory: dict[str, object]) -> None:
    def find(reference: str) -> Check | None:
        return check_with(memory) if reference == REFERENCE else None

    message = Message(True, "GET", "", query, {}, b"")
    try:
        received = bank.receive(message, find, now=NOW)
    except MessageRefusedError:
        return
    assert (query["state"], received.references) == (STATE, (REFERENCE,))
    assert query.get("iss", ISSUER) == ISSUER
    assert "iss" in query or "names_issuer" not in memory
    added = dict(received.memory or memory)
    assert ("code" in added) != ("error" in added)
    if "code" in memory or "error" in memory:
        assert received.memory is None  # what was there first stays


@given(st.text(max_size=30), st.sampled_from(["GET", "POST"]), st.binary(max_size=200))
def test_machines_read_the_keys_and_nothing_else(path: str, method: str, body: bytes) -> None:
    message = Message(False, method, path, {"state": STATE}, {}, body)
    try:
        received = bank.receive(message, lambda _reference: check_with({}), now=NOW)
    except MessageRefusedError:
        return
    assert (path, method, received.references, received.memory) == ("keys", "GET", (), None)


@pytest.mark.parametrize(("private", "why"), [("false", "not on the public Internet"), ("true", "failed")])
def test_a_provider_on_a_private_network_is_called_only_where_that_is_set(private: str, why: str) -> None:
    changes = {"issuer": f"https://127.0.0.1:{free_port()}", "private_network": private}
    inside = registry.load("inside", SETTINGS | changes, own_framework="https://id.example/a", loopback=False)
    with pytest.raises(ProviderError, match=why):
        inside.start(check_with({}), now=NOW)
