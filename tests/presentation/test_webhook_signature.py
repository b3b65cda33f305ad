"""Signatures of webhooks, verified by the standard's library, and waiting times before retries."""

import base64
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook, WebhookVerificationError

from presentation.webhooks import delivery, signing_secrets

SECRETS = [bytes(range(32)), bytes(range(32, 64))]


@given(body=st.text(st.characters(exclude_categories=["Cs"])), secret=st.binary(min_size=32, max_size=32))
def test_the_library_verifies_whatever_is_signed(body: str, secret: bytes) -> None:
    headers = signing_secrets.signature_headers("an-id", body, secrets=[secret], now=datetime.now(UTC))

    Webhook(signing_secrets.as_text(secret)).verify(body.encode(), headers, json_parse=False)


def test_the_specifications_shape() -> None:
    moment = datetime(2026, 11, 21, 12, 0, 0, 999_999, tzinfo=UTC)
    headers = signing_secrets.signature_headers("an-id", "{}", secrets=SECRETS, now=moment)

    assert headers["webhook-id"] == "an-id"
    assert headers["webhook-timestamp"] == "1795262400"
    first, second = headers["webhook-signature"].split(" ")
    library = Webhook(signing_secrets.as_text(SECRETS[0]))
    assert first == library.sign("an-id", moment, "{}")
    assert second.startswith("v1,")
    assert signing_secrets.as_text(SECRETS[0]) == "whsec_" + base64.b64encode(SECRETS[0]).decode()


@pytest.mark.parametrize("changed", ["body", "webhook-id", "webhook-timestamp", "secret", "signature"])
def test_nothing_may_be_changed(changed: str) -> None:
    now = datetime.now(UTC)
    headers = signing_secrets.signature_headers("an-id", "{}", secrets=SECRETS[:1], now=now)
    headers |= {
        "webhook-id": {"webhook-id": "another"},
        "webhook-timestamp": {"webhook-timestamp": str(int(now.timestamp()) + 1)},
        "signature": {"webhook-signature": "v1," + base64.b64encode(bytes(32)).decode()},
    }.get(changed, {})
    library = Webhook(signing_secrets.as_text(SECRETS[1 if changed == "secret" else 0]))

    with pytest.raises(WebhookVerificationError):
        library.verify('{"a":1}' if changed == "body" else "{}", headers)


@pytest.mark.parametrize(
    ("attempts", "seconds"), [(1, 5), (2, 60), (3, 300), (4, 1800), (5, 3600), (10**9, 3600)]
)
def test_an_event_waits_longer_each_time_and_never_quite_as_long(attempts: int, seconds: int) -> None:
    shortest, longest = (delivery.event_waits(attempts, chance=chance) for chance in (0.0, 1.0))

    assert (shortest, longest) == (timedelta(seconds=seconds * 0.8), timedelta(seconds=seconds * 1.2))


@given(failures=st.integers(0, 10**9), chance=st.floats(0, 1))
def test_an_endpoint_rests_for_a_quarter_of_an_hour_at_most(failures: int, chance: float) -> None:
    assert timedelta(seconds=4) <= delivery.endpoint_waits(failures, chance=chance) <= timedelta(minutes=18)
    assert delivery.endpoint_waits(failures + 1, chance=chance) >= delivery.endpoint_waits(
        failures, chance=chance
    )
