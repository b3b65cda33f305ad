"""The documentation of transaction data says what the code does."""

import base64
import hashlib
import json
import re
from pathlib import Path

import pytest

from presentation.transaction_data.entries import parse
from presentation.transaction_data.types import TYPES
from tests.transaction_data_reference import documentation, example

PAGE = Path(__file__).resolve().parents[3] / "docs" / "transaction-data.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == documentation(), (
        "Run: python -m tests.transaction_data_reference > docs/transaction-data.md"
    )


def test_every_module_that_the_page_names_exists() -> None:
    named = re.findall(r"[\w/]+\.py\b", documentation())

    assert named
    assert [path for path in named if not (PAGE.parents[1] / path).is_file()] == []


@pytest.mark.parametrize("urn", TYPES)
def test_every_type_and_field_is_in_it(urn: str) -> None:
    section = documentation().split(f"## `{urn}`")[1].split("\n## ")[0]

    for name in re.findall(r'"(\w+)":', json.dumps(example(TYPES[urn])["payload"])):
        assert f"| `{name}` |" in section


@pytest.mark.parametrize("urn", TYPES)
def test_its_examples_are_accepted_and_their_hashes_are_right(urn: str) -> None:
    section = documentation().split(f"## `{urn}`")[1].split("\n## ")[0]
    value, digest = re.findall(r"```\n([A-Za-z0-9_-]+)\n```", section)

    (data,) = parse(value, credential_ids=["basic"], allowed_types=[urn])

    assert data.type == urn
    assert base64.urlsafe_b64encode(hashlib.sha256(value.encode()).digest()).decode() == digest + "="
