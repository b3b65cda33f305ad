"""What the flow counts, and that the metrics and the log line of a request do not depend on each other."""

from collections import Counter as Tally
from collections.abc import Callable
from typing import Any

import pytest
from django.core import mail
from django.test import Client

from config.metrics import REGISTRY
from infra import log_context
from infra.counts import counting
from infra.counts.counting import FAMILIES, Counter
from infra.database import refused_writes
from presentation.models import Interaction, RelyingParty
from presentation.requests.interactions import path_of
from tests.people import ALICE
from tests.presentation.requests.authorization_requests import PATH, asked
from tests.wallet.conftest import code_in


def present(holder: Client, stranger: Client, party: RelyingParty) -> None:
    """A request that is shared, one declined, one refused, one untrusted, one with a sign-in."""
    for decision, nonce in (("share", "a" * 22), ("decline", "b" * 22)):
        holder.get(PATH, asked(party, nonce=nonce))
        row = Interaction.objects.get(outcome=Interaction.Outcome.NONE)
        assert holder.post(path_of(row), {"decision": decision}).status_code == 303
    assert stranger.get(PATH, asked(party, response_type="code")).status_code == 303
    assert stranger.get(PATH, {"client_id": "nobody"}).status_code == 400
    page = stranger.get(PATH, asked(party, nonce="c" * 22)).headers["Location"]
    sent = stranger.post(page, {"email": ALICE})
    signed_in = stranger.post(sent.headers["Location"], {"code": code_in(mail.outbox[-1].body)})
    assert stranger.get(signed_in.headers["Location"]).status_code == 303


def numbers() -> Tally[tuple[str, str]]:
    """The counters by their name and last label; the sum of all relying parties."""
    found: Tally[tuple[str, str]] = Tally()
    for (family, labels), (number, *_) in counting.totals().items():
        if isinstance(FAMILIES[family], Counter):
            label = labels[-1] if FAMILIES[family].labels[-1] != "relying_party" else ""
            found[family, label] += int(number)
    return found


COUNTED = {
    ("authorization_requests", "consent"): 2,
    ("authorization_requests", "refused"): 1,
    ("authorization_requests", "untrusted"): 1,
    ("authorization_requests", "sign_in"): 1,
    ("consent_questions", ""): 3,
    ("authorization_answers", "shared"): 1,
    ("authorization_answers", "access_denied"): 1,
    ("authorization_answers", "unsupported_response_type"): 1,
    ("sign_ins", "request"): 1,
}
LOGGED = {
    ("first_step", "consent"): 2,
    ("first_step", "refused"): 1,
    ("first_step", "untrusted"): 1,
    ("first_step", "sign_in"): 1,
    ("asked", True): 1,
    ("outcome", "answered"): 1,
    ("outcome", "refused"): 2,
    ("error", "access_denied"): 1,
    ("error", "unsupported_response_type"): 1,
    ("signed_in", "request"): 1,
}


def without_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_context, "bind", lambda **facts: None)


def with_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    pass


@pytest.mark.parametrize("and_the_log", [with_the_log, without_the_log])
def test_what_happens_is_counted_whatever_the_log_says(
    holder: Client,
    client: Client,
    acme_bank: RelyingParty,
    signing_key: Any,
    monkeypatch: pytest.MonkeyPatch,
    and_the_log: Callable[[pytest.MonkeyPatch], None],
) -> None:
    and_the_log(monkeypatch)
    before = numbers()

    present(holder, Client(), acme_bank)

    assert numbers() - before == COUNTED


def test_what_happens_is_logged_though_nothing_is_counted(
    holder: Client,
    acme_bank: RelyingParty,
    signing_key: Any,
    monkeypatch: pytest.MonkeyPatch,
    logged: list[dict[str, Any]],
) -> None:
    monkeypatch.setattr(Counter, "add", lambda self, *labels: None)
    before = numbers()

    present(holder, Client(), acme_bank)

    names = {name for name, _ in LOGGED}
    lines = [line for line in logged if line["event"] == "request"]
    assert Tally((name, line[name]) for line in lines for name in names & line.keys()) == LOGGED
    assert numbers() == before


def test_a_request_counts_its_first_refused_write_alone() -> None:
    before = numbers()

    refused_writes.note("53100")  # of a job
    refused_writes.begin_request()
    for code in ("23505", "53100", "53100"):
        refused_writes.note(code)
    refused_writes.end_request()
    refused_writes.note("53100")

    assert numbers() - before == {("database_refused_writes", "disk_full"): 1}


def test_every_counter_is_reported(db: None) -> None:
    reported = {family.name for family in REGISTRY.collect()}
    assert FAMILIES.keys() <= reported
