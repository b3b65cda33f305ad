"""docs/protocol.md lists every error code that the service can answer with, and no other."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client

from presentation.errors import AuthorizationError
from presentation.machine_errors import MachineError
from tests.raised_errors import raised_without_a_class
from tests.source_modules import modules

pytestmark = pytest.mark.slow

GUIDE = (Path(__file__).resolve().parent.parent / "docs" / "protocol.md").read_text()
AT_THE_CALLBACK = "| `error` | what to do |"
OF_ENDPOINTS = "| status, `error` | what to do |"
# No error for machines is raised: REST framework refuses methods, `config.views` unknown documents.
WITHOUT_A_CLASS = {(405, "invalid_request"), (404, "not_found")}


def subclasses(family: type) -> Iterator[type]:
    """The classes of a family, itself included."""
    yield family
    for direct in family.__subclasses__():
        yield from subclasses(direct)


def rows(header: str) -> list[str]:
    """The first cell of each row of the table with this header."""
    table = GUIDE.split(header + "\n")[1].split("\n\n")[0]
    return [row.split("|")[1] for row in table.splitlines()[1:]]


def codes_at_the_callback() -> set[str]:
    return {code for cell in rows(AT_THE_CALLBACK) for code in re.findall(r"`(\w+)`", cell)}


def answers_of_endpoints() -> set[tuple[int, str]]:
    """The pairs of status and code. The row that refers to section 3 names no code of its own."""
    return {
        (int(status), code)
        for cell in rows(OF_ENDPOINTS)
        for status in re.findall(r"\b\d{3}\b", cell)
        for code in re.findall(r"`(\w+_\w+)`", cell)
    }


def codes_in_the_code() -> set[str]:
    """Every constant that is the `error` of a class, of a call or of a dictionary."""
    found = {code for _status, code in raised_without_a_class()}
    for _, path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                pairs = [(part.targets[0], part.value) for part in node.body if isinstance(part, ast.Assign)]
            elif isinstance(node, ast.Dict):
                pairs = [(key, value) for key, value in zip(node.keys, node.values, strict=True) if key]
            else:
                continue
            found |= {
                value.value
                for name, value in pairs
                if ast.unparse(name) in ("error", "'error'") and isinstance(value, ast.Constant)
            }
    return found


def test_the_table_of_the_callback_has_every_code_of_the_authorization_endpoint_and_no_other() -> None:
    assert codes_at_the_callback() == {
        each.error for each in subclasses(AuthorizationError) if hasattr(each, "error")
    }


def test_the_table_of_endpoints_has_every_status_and_code_for_machines_and_no_other() -> None:
    answers = {(each.status, each.error) for each in subclasses(MachineError)}  # type: ignore[attr-defined]

    assert answers_of_endpoints() == answers | raised_without_a_class() | WITHOUT_A_CLASS


def test_no_error_code_in_the_code_is_missing_from_the_tables() -> None:
    """Also finds a code that is written into a dictionary without a class."""
    documented = codes_at_the_callback() | {code for _, code in answers_of_endpoints()}

    assert codes_in_the_code() == documented


def test_the_answers_without_a_class_are_given(client: Client) -> None:
    responses = [client.get("/oauth/v2/token"), client.get("/.well-known/unknown")]

    assert {(response.status_code, response.json()["error"]) for response in responses} == WITHOUT_A_CLASS
    assert responses[0]["Allow"]
