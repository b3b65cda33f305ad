"""`python -m tools.sbom FOLDER`: what the service and the client libraries consist of (CycloneDX 1.6, JSON).

The packages of the service are those of the locked requirements, not those of this machine. The same sources
give the same documents: they have no time, and their serial number is made of their content.
"""

import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

ROOT = Path(__file__).resolve().parent.parent
# The folders of the locked files: with Django 5.2 and with Django 6.1.
DEFAULT, DJANGO_6_1 = (ROOT / "requirements" / name for name in ("", "django-6.1"))
# Their sets, and whether every installation has the packages of each.
SETS = {"production": ComponentScope.REQUIRED, "hsm": ComponentScope.OPTIONAL}
_PINNED = re.compile(r"^([a-z0-9][a-z0-9._-]*)(?:\[[^\]]*\])?==([^ ;\\]+)")
_VIA = re.compile(r"^ +#(?: via|  ) +(\S.*)$")


@dataclass(frozen=True)
class Package:
    """A package of a locked file. needed_by: the names behind `via`; those of files begin with `-r`."""

    name: str
    version: str
    needed_by: tuple[str, ...]


def packages(text: str) -> Iterator[Package]:
    """The packages that a locked file pins, with what needs each."""
    blocks = re.split(r"^(?=[a-z0-9])", text, flags=re.M)
    for block in blocks:
        if pinned := _PINNED.match(block):
            needed_by = (found[1] for line in block.splitlines() if (found := _VIA.match(line)))
            yield Package(pinned[1], pinned[2], tuple(needed_by))


def of_the_service(folder: Path = DEFAULT) -> Bom:
    """The service with the packages that are locked in this folder, and which needs which."""
    version = _client()["version"]
    bom, service = _document("presentation", version, ComponentType.APPLICATION)
    components: dict[str, Component] = {}
    needed_by: dict[str, set[str]] = {}
    for name, scope in SETS.items():
        for package in packages((folder / f"{name}.txt").read_text()):
            components.setdefault(package.name, _from_pypi(package.name, package.version, scope))
            needed_by.setdefault(package.name, set()).update(package.needed_by)
    bom.components.update(components.values())
    for name, component in components.items():
        for other in needed_by[name]:
            bom.register_dependency(components.get(other, service), [component])
    return bom


def of_the_python_client() -> Bom:
    """The wheel of the Python library. What it needs has a range there, and so no version here."""
    client = _client()
    bom, library = _document(client["name"], client["version"], ComponentType.LIBRARY)
    needed = [_from_pypi(re.split("[^A-Za-z0-9._-]", each)[0], None) for each in client["dependencies"]]
    bom.components.update(needed)
    bom.register_dependency(library, needed)
    return bom


def of_the_node_client() -> Bom:
    """The package of the Node.js library, which needs no other."""
    package = json.loads((ROOT / "clients" / "node" / "package.json").read_text())
    if "dependencies" in package:
        raise ValueError("The Node.js library has dependencies now; name them here.")
    bom, _ = _document(package["name"], package["version"], ComponentType.LIBRARY)
    return bom


DOCUMENTS: dict[str, Callable[[], Bom]] = {
    "service.cdx.json": of_the_service,
    "service-django-6.1.cdx.json": partial(of_the_service, DJANGO_6_1),
    "client-python.cdx.json": of_the_python_client,
    "client-node.cdx.json": of_the_node_client,
}


def written(bom: Bom) -> str:
    """The document as text."""
    named = [bom.metadata.component, *bom.components]
    content = sorted(f"{each.name}=={each.version}" for each in named if each)
    bom.serial_number = uuid5(NAMESPACE_URL, " ".join(content))
    return JsonV1Dot6(bom).output_as_string(indent=2) + "\n"


def _client() -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((ROOT / "clients" / "python" / "pyproject.toml").read_text())[
        "project"
    ]
    return project


def _document(name: str, version: str, kind: ComponentType) -> tuple[Bom, Component]:
    component = Component(name=name, version=version, type=kind, bom_ref=name)
    bom = Bom()
    bom.metadata.component, bom.metadata.timestamp = component, None
    bom.register_dependency(component, [])
    return bom, component


def _from_pypi(name: str, version: str | None, scope: ComponentScope = ComponentScope.REQUIRED) -> Component:
    purl = PackageURL("pypi", name=name, version=version)
    return Component(name=name, version=version, purl=purl, bom_ref=str(purl), scope=scope)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for file, document in DOCUMENTS.items():
        (folder / file).write_text(written(document()))
        print(folder / file)
