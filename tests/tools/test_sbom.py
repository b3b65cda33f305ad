"""The bills of materials: valid, complete, and the same for the same sources."""

import json
import re
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from tests.project_copy import ROOT
from tools.sbom import DOCUMENTS, packages, written

PINNED = r"^([a-z0-9][^\s\[=]*(?:\[[^\]]*\])?==[^ ;\\]+)"
# The documents of the service, and where their packages are locked.
FOLDERS = {"service.cdx.json": "requirements", "service-django-6.1.cdx.json": "requirements/django-6.1"}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_is_valid_and_comes_out_the_same_again(name: str) -> None:
    document = written(DOCUMENTS[name]())

    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(document) is None
    assert written(DOCUMENTS[name]()) == document


def of_the_service(name: str) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(written(DOCUMENTS[name]()))
    return made


@pytest.mark.parametrize("name", FOLDERS)
def test_every_locked_package_of_the_service_is_in_it_with_its_version(name: str) -> None:
    service = of_the_service(name)
    text = "".join((ROOT / FOLDERS[name] / f"{each}.txt").read_text() for each in ("production", "hsm"))
    pinned = set(re.findall(PINNED, text, re.M))

    assert {f"{each['name']}=={each['version']}" for each in service["components"]} == {
        re.sub(r"\[.*?\]", "", each) for each in pinned
    }
    [segno] = re.findall(r"^segno==([^ ]+)", text, re.M)
    assert f"pkg:pypi/segno@{segno}" in {each["purl"] for each in service["components"]}


@pytest.mark.parametrize("name", FOLDERS)
def test_every_package_is_reached_from_the_service(name: str) -> None:
    service = of_the_service(name)
    needs = {each["ref"]: each.get("dependsOn", []) for each in service["dependencies"]}
    reached, ahead = set(), ["presentation"]
    while ahead:
        here = ahead.pop()
        if here not in reached:
            reached.add(here)
            ahead += needs.get(here, [])

    assert {each["bom-ref"] for each in service["components"]} <= reached


def test_packages_needed_by_one_or_by_several_are_read() -> None:
    text = "a==1 \\\n    --hash=sha256:00\n    # via -r x.in\n"
    text += "b[c]==2 ; python_version < '4'\n    # via\n    #   a\n    #   d\n"

    assert [(each.name, each.version, each.needed_by) for each in packages(text)] == [
        ("a", "1", ("-r x.in",)),
        ("b", "2", ("a", "d")),
    ]


def test_the_clients_name_themselves_and_what_they_need() -> None:
    python = json.loads(written(DOCUMENTS["client-python.cdx.json"]()))
    node = json.loads(written(DOCUMENTS["client-node.cdx.json"]()))

    assert python["metadata"]["component"]["name"] == node["metadata"]["component"]["name"]
    assert [each["name"] for each in python["components"]] == ["cryptography"]
    assert "components" not in node
