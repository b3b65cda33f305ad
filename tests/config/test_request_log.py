"""The request log, what it must not contain, and the headers of every page."""

import json
import logging
import re
from dataclasses import dataclass, field
from typing import Any

import pytest
import structlog
from django.conf import settings
from django.test import Client, override_settings
from django.utils.translation import get_language
from hypothesis import assume, example, given, strategies

from config.logs import as_line
from infra import log_context
from presentation.models import Interaction, RelyingParty
from presentation.requests.interactions import path_of
from tests.people import ALICE
from tests.presentation.requests.authorization_requests import PATH, asked
from tests.presentation.requests.deciding import ask, decide


def test_a_whole_flow_leaves_no_address_nonce_state_name_or_token_in_logs_and_metrics(
    holder: Client,
    acme_bank: RelyingParty,
    signing_key: Any,
    settings: Any,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    settings.METRICS_TOKEN = "m" * 40

    holder.get(PATH, {"client_id": "nora@example.org", "nonce": "n-0S6_WzA2Mj", "login_hint": ALICE})
    holder.generic(ALICE, f"/{ALICE}/Archer")
    home = holder.get(decide(holder, ask(holder, acme_bank))).headers["Location"]

    token = home.split("vp_token=")[1][:40]
    written = capsys.readouterr().err
    assert "status=303" in written
    metrics = holder.get("/metrics", headers={"Authorization": f"Bearer {'m' * 40}"}).content.decode()
    # Relying parties have their names there, unless the tests before this one had fifty others.
    assert 'authorization_answers_total{outcome="shared",relying_party="' in metrics
    assert re.search('authorization_requests_total{relying_party="[a-z]*",step="untrusted"}', metrics)
    for private in (ALICE, "nora@example.org", "n-0S6_WzA2Mj", "af0ifjsldkj", "Archer", token):
        assert private not in written
        assert private not in metrics


def test_the_reference_on_an_error_page_is_the_one_in_the_log(
    client: Client, db: None, logged: list[dict[str, Any]]
) -> None:
    page = client.get(PATH, {"client_id": "nobody"})

    (line,) = logged
    assert line["reference"] in page.content.decode()


TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


@pytest.mark.parametrize(
    ("header", "trace"),
    [
        (f"00-{TRACE}-00f067aa0ba902b7-01", TRACE),
        (f"00-{'0' * 32}-00f067aa0ba902b7-01", None),
        (f"00-{TRACE.upper()}-00f067aa0ba902b7-01", None),
        (f"00-{TRACE}-00f067aa0ba902b7-01-nora@example.org", None),
        ("nora@example.org", None),
        ("", None),
    ],
)
def test_the_trace_id_of_a_client_is_in_the_line(
    client: Client, db: None, logged: list[dict[str, Any]], header: str, trace: str | None
) -> None:
    client.get("/", headers={"traceparent": header})

    assert [line.get("trace_id") for line in logged] == [trace]


def test_the_id_of_a_request_is_logged_and_returned_and_begins_with_its_reference(
    client: Client, db: None, logged: list[dict[str, Any]]
) -> None:
    first, second = client.get("/"), client.get("/nowhere/")

    ids = [line["request_id"] for line in logged]
    assert ids == [response.headers["X-Request-ID"] for response in (first, second)]
    assert len(set(ids)) == 2
    assert all(re.fullmatch("[0-9a-f]{32}", one) for one in ids)
    assert [line["reference"] for line in logged] == [one[:8].upper() for one in ids]
    assert ids[1][:8].upper() in second.content.decode()


GIVEN = "0123456789abcdef" * 2


def id_of(proxies: int, given: str) -> str:
    """The id of a request that has the header `given`, behind so many proxies."""
    with override_settings(TRUSTED_PROXY_COUNT=proxies):
        return str(Client().get("/health/live", headers={"X-Request-ID": given}).headers["X-Request-ID"])


def test_the_id_of_the_proxy_is_used_and_that_of_a_client_is_not() -> None:
    assert id_of(1, GIVEN) == GIVEN
    assert id_of(0, GIVEN) != GIVEN


@given(strategies.one_of(strategies.text(), strategies.text("0123456789abcdef", min_size=28, max_size=36)))
@example(GIVEN.upper())
@example(f"{GIVEN}\n")
@example(f"{GIVEN[:-1]}\u0661")
@example(f"{GIVEN}, {GIVEN}")
def test_an_id_of_another_form_is_replaced(given: str) -> None:
    assume(not re.fullmatch("[0-9a-f]{32}", given))
    assert re.fullmatch("[0-9a-f]{32}", used := id_of(1, given))
    assert used != given


def test_each_request_of_a_flow_is_one_line_and_the_last_says_who_got_the_answer(
    holder: Client, acme_bank: RelyingParty, signing_key: Any, logged: list[dict[str, Any]]
) -> None:
    ask(holder, acme_bank)
    holder.post(path_of(Interaction.objects.get()), {"decision": "share"})

    # The first answer of all opens the status lists.
    written = [line for line in logged if line["event"] != "status_lists_kept_open"]
    assert [line["event"] for line in written] == ["request"] * 2
    assert len({line["reference"] for line in written}) == 2
    assert [(line["method"], line["status"]) for line in written] == [("GET", 200), ("POST", 303)]
    interaction = Interaction.objects.get()
    assert [line.get("outcome") for line in written] == [None, "answered"]
    assert (written[-1]["interaction"], written[-1]["client_id"]) == (
        str(interaction.id),
        acme_bank.client_id,
    )


def test_the_line_of_a_refusal_says_its_error(
    holder: Client, acme_bank: RelyingParty, logged: list[dict[str, Any]]
) -> None:
    ask(holder, acme_bank)
    holder.post(path_of(Interaction.objects.get()), {"decision": "decline"})

    line = logged[-1]
    said = [line[name] for name in ("event", "outcome", "interaction", "error", "status")]
    assert said == ["request", "refused", str(Interaction.objects.get().id), "access_denied", 303]


def test_the_line_of_a_request_has_nothing_of_what_this_thread_did_before(
    client: Client, db: None, logged: list[dict[str, Any]]
) -> None:
    log_context.begin(outcome="answered", interaction="1")

    client.get("/")

    (line,) = logged
    assert "outcome" not in line
    assert "interaction" not in line


def test_a_request_that_fails_has_a_line_and_leaves_nothing_to_the_next(
    db: None, monkeypatch: pytest.MonkeyPatch, logged: list[dict[str, Any]]
) -> None:
    monkeypatch.setattr("config.views.render", None)
    failing = Client(raise_request_exception=False)

    failed = failing.get("/", headers={"accept-language": "es"})

    (line,) = logged
    assert (line["status"], failed.status_code) == (500, 500)
    assert line["reference"] in failed.content.decode()
    assert get_language() == settings.LANGUAGE_CODE
    structlog.get_logger("tests").info("something_later")
    assert "reference" not in logged[-1]


@given(
    strategies.dictionaries(
        strategies.text(strategies.characters()), strategies.text(strategies.characters())
    )
)
def test_every_text_is_logged_as_a_line_of_json_in_ascii(event: dict[str, str]) -> None:
    line = as_line(event, default=repr)

    assert line.isascii()
    assert line.isprintable()
    assert json.loads(line) == event


def test_objects_are_logged_as_they_show_themselves() -> None:
    @dataclass
    class Person:
        name: str = field(default="Archer", repr=False)

    for name in ("value", "Größe"):
        assert "Archer" not in as_line({name: Person()}, default=repr)
        assert json.loads(as_line({name: 2**70}, default=repr)) == {name: 2**70}


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
    db: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "wallet.sign_in.views.links.redirect_task_for", None
    )  # so that opening the link fails
    secret = "s" * 22

    Client(enforce_csrf_checks=True).post(f"/admin/{secret}/")
    Client(raise_request_exception=False).get(f"/wallet/link/{secret}/")
    for referer in (f"https://x.example/{secret}", f"https://x.example?{secret}"):
        browser = Client(enforce_csrf_checks=True, headers={"Referer": referer})
        browser.post(f"/admin/{secret}/", secure=True)

    written = capsys.readouterr().err
    assert "Forbidden (CSRF cookie not set.): (path)" in written
    assert "Internal Server Error: (path)" in written
    assert "Referer checking failed - https://x.example/(path) does not match" in written
    assert secret not in written
