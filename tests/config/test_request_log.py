"""The request log, what it must not contain, and the headers of every page."""

import logging
from io import StringIO
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from presentation.models import RelyingParty
from tests.people import ALICE
from tests.presentation.requests.test_authorize import PATH, asked
from tests.presentation.requests.test_flow import ask, decide
from wallet.models import Wallet


def test_a_whole_flow_logs_no_address_nonce_state_name_or_token(
    client: Client,
    alice: Wallet,
    acme_bank: RelyingParty,
    signing_key: Any,
    sign_in: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    sign_in(alice)

    home = client.get(decide(client, ask(client, acme_bank))).headers["Location"]

    token = home.split("vp_token=")[1][:40]
    written = "\n".join(
        record.getMessage() for record in caplog.records if not record.name.startswith("django.db")
    )
    assert "'status': 303" in written
    for private in (ALICE, "n-0S6_WzA2Mj", "af0ifjsldkj", "Archer", token):
        assert private not in written


def test_the_reference_on_an_error_page_is_the_one_in_the_log(
    client: Client, db: None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)

    page = client.get(PATH, {"client_id": "nobody"})

    reference = next(r.msg["reference"] for r in caplog.records if isinstance(r.msg, dict))  # type: ignore[call-overload]
    assert reference in page.content.decode()


def test_every_page_is_sent_with_the_strict_policy(client: Client, db: None) -> None:
    headers = client.get("/").headers

    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")
    assert "form-action 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"


def test_the_answer_is_neither_cached_nor_referred_from(client: Client, acme_bank: RelyingParty) -> None:
    answer = client.get(PATH, asked(acme_bank, response_type="code"))

    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Referrer-Policy"] == "no-referrer"


def test_the_log_never_says_the_path_because_links_carry_their_secrets(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = StringIO()
    handler = logging.StreamHandler(written)
    for name in settings.LOGGING["handlers"]["stderr"]["filters"]:
        handler.addFilter(settings.LOGGING["filters"][name]["()"]())
    monkeypatch.setattr("wallet.views.sign_in_links.errand_for", None)  # so that opening the link fails
    loggers = [logging.getLogger(name) for name in ("django.request", "django.security.csrf")]
    for logger in loggers:
        logger.addHandler(handler)
    try:
        secret = "s" * 22
        Client(enforce_csrf_checks=True).post(f"/wallet/link/{secret}/")
        Client(raise_request_exception=False).get(f"/wallet/link/{secret}/")
    finally:
        for logger in loggers:
            logger.removeHandler(handler)

    assert "Forbidden (CSRF cookie not set.): (path)" in written.getvalue()
    assert "Internal Server Error: (path)" in written.getvalue()
    assert secret not in written.getvalue()
