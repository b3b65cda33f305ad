"""The curl command of each operation: complete, safe to paste, and one that this service understands."""

import itertools
import json
import shlex
import subprocess
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from sandbox.api import description as api


def commands(base_url: str) -> dict[str, str]:
    """The command of each operation that an application calls."""
    operations = [each for _, group in api.groups(base_url) for each in group]
    return {each["operationId"]: each["curl"] for each in operations if each["curl"]}


def test_every_operation_that_an_application_calls_has_a_command_to_copy(client: Client, db: None) -> None:
    page = client.get(reverse("api_description")).content.decode()

    assert len(commands(settings.BASE_URL)) == page.count("<h4>With curl</h4>") >= 15
    assert 'aria-label="curl: ' in page  # the copy button is named after it
    assert "copy.js" in page


@pytest.mark.parametrize("name", commands(settings.BASE_URL))
def test_a_shell_reads_each_command_as_one_call_of_this_service(name: str) -> None:
    words = shlex.split(commands(settings.BASE_URL)[name].replace("\\\n", " "))

    assert words[:2] == ["curl", "-sS"]
    assert words[2].startswith(f"{settings.BASE_URL}/")
    for before, word in itertools.pairwise(words[2:]):
        assert word.startswith("-") or before.startswith("-"), word


def test_secrets_of_the_reader_are_variables_and_are_expanded() -> None:
    found = commands(settings.BASE_URL)

    assert '-u "$CLIENT_ID:$CLIENT_SECRET"' in found["token"]
    assert '-H "Authorization: Bearer $TOKEN"' in found["verify"]
    assert '"client_id=$CLIENT_ID"' in found["authorize"]


def members(name: str) -> tuple[set[str], set[str]]:
    """The parameters and the members of the body that the operation knows, and those that it requires."""
    (found,) = [
        each for _, group in api.groups(settings.BASE_URL) for each in group if each["operationId"] == name
    ]
    known = {
        each["name"]: each.get("required", False)
        for each in found.get("parameters", [])
        if each["in"] == "query"
    }
    for content in found.get("requestBody", {}).get("content", {}).values():
        required = content["schema"].get("required", [])
        known |= {member: member in required for member in content["schema"]["properties"]}
    return set(known), {member for member, required in known.items() if required}


@pytest.mark.parametrize("name", commands(settings.BASE_URL))
def test_each_command_sends_what_its_operation_requires_and_nothing_that_it_does_not_know(name: str) -> None:
    words = shlex.split(commands(settings.BASE_URL)[name].replace("\\\n", " "))
    sent = {words[at + 1].partition("=")[0] for at, word in enumerate(words) if word == "--data-urlencode"}
    sent |= {member for at, word in enumerate(words) if word == "-d" for member in json.loads(words[at + 1])}
    known, required = members(name)

    assert required <= sent <= known


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", ["discovery", "jwks", "credential_issuer", "credential_type"])
def test_documents_are_fetched_with_their_command(live_server: Any, signing_key: Any, name: str) -> None:
    made = commands(live_server.url)[name]

    done = subprocess.run(  # noqa: S602
        made + " -w '%{http_code}' -o /dev/null", shell=True, capture_output=True, text=True, check=True
    )
    assert done.stdout == "200"
