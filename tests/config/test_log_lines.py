"""The lines of the log: one form for all events, and no reason for a request to fail."""

import json
import logging
import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, Any

import pytest
import structlog
from django.test import Client

from config.logs import StandardErrorLogger, structlog_config
from infra import log_context
from tests.log_form import log_form
from tests.people import ALICE

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
each_form = pytest.mark.parametrize("as_json", [True, False], ids=["JSON", "text"])


@pytest.fixture
def facts() -> Iterator[dict[str, Any]]:
    """A request is being served."""
    yield log_context.begin(reference="AE931A0F")
    log_context.end()


@each_form
def test_an_event_of_ours_and_one_of_a_library_are_the_same_line(
    facts: dict[str, Any], as_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = []
    with log_form(as_json=as_json):
        for log in (structlog.get_logger("django.mail"), logging.getLogger("django.mail")):
            log.warning(f"Refused by {ALICE}")
            try:
                raise ValueError(f"of {ALICE}")
            except ValueError:
                log.exception("Internal Server Error")
            written, times = TIME.subn("(time)", capsys.readouterr().err)
            assert times == 2
            lines.append(written)

    ours, of_a_library = lines
    assert ours == of_a_library
    assert "ValueError: of (address)" in ours
    assert "AE931A0F" in ours
    assert ALICE not in ours


def test_the_members_of_a_line_have_their_order(
    facts: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    with log_form(as_json=True):
        structlog.get_logger("config.middleware").info("request", method="GET", status=200)

    line = json.loads(capsys.readouterr().err)
    assert TIME.fullmatch(line.pop("timestamp"))
    assert list(line.items()) == [
        ("reference", "AE931A0F"),
        ("method", "GET"),
        ("status", 200),
        ("event", "request"),
        ("level", "info"),
        ("logger", "config.middleware"),
    ]


LEVELS = ["debug", "info", "warning", "error", "critical"]


@pytest.mark.parametrize("level", LEVELS)
def test_events_below_the_level_are_not_written(level: str, capsys: pytest.CaptureFixture[str]) -> None:
    config = structlog_config(level=level.upper(), as_json=True)
    log = structlog.wrap_logger(
        StandardErrorLogger("tests"),
        processors=config["processors"],
        wrapper_class=config["wrapper_class"],
    )

    for each in LEVELS:
        getattr(log, each)("event")

    written = [json.loads(line)["level"] for line in capsys.readouterr().err.splitlines()]
    assert written == LEVELS[LEVELS.index(level) :]


@pytest.fixture(params=["closed", "without a reader", "on a full disk", "missing"])
def broken(request: pytest.FixtureRequest) -> Iterator[IO[str] | None]:
    """A standard error that takes nothing."""
    if request.param == "missing":
        yield None
        return
    reader, writer = os.pipe()
    os.close(reader)
    full = os.open("/dev/full", os.O_WRONLY)
    with suppress(OSError), open(writer, "w") as pipe, open(full, "w") as disk:  # they still have the lines
        if request.param == "closed":
            pipe.close()
        yield disk if request.param == "on a full disk" else pipe


def test_a_request_is_answered_while_the_log_cannot_be_written(
    broken: IO[str] | None, client: Client, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", broken)
        for _ in range(3):
            assert client.get("/").status_code == 200
            logging.getLogger("django").warning("of a library")


class Unspeakable:
    def __repr__(self) -> str:
        raise ValueError


@each_form
def test_what_cannot_be_shown_does_not_cost_its_line(
    facts: dict[str, Any], as_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    with log_form(as_json=as_json):
        structlog.get_logger("tests").info("event", status=200, value=Unspeakable())

    (line,) = capsys.readouterr().err.splitlines()
    for word in ("event", "AE931A0F", "status", "200", "not_shown", "ValueError"):
        assert word in line
    assert "value" not in line
