"""The OpenAPI document as a page reads it: operations by group, what goes in, what comes out. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any


@dataclass(frozen=True)
class Member:
    """A parameter, or a member of a body; `name` of a nested one has dots."""

    name: str
    about: str
    kind: str
    required: bool


@dataclass(frozen=True)
class Body:
    """What one status comes with, or what is sent."""

    title: str
    about: str
    media: str
    members: list[Member]


@dataclass(frozen=True)
class Operation:
    """One method of one address."""

    name: str
    method: str
    path: str
    group: str
    summary: str
    about: str
    auth: list[str]
    query: list[Member]
    sent: list[Body]
    answers: list[Body]


def groups(document: Mapping[str, Any]) -> list[tuple[str, list[Operation]]]:
    """The operations, in the document's order, by the group they belong to."""
    operations = [
        _operation(path, method, operation)
        for path, methods in [*document["paths"].items(), *document["webhooks"].items()]
        for method, operation in methods.items()
    ]
    return [(name, list(some)) for name, some in groupby(operations, key=lambda operation: operation.group)]


def _operation(path: str, method: str, said: Mapping[str, Any]) -> Operation:
    parameters = said.get("parameters", [])
    return Operation(
        name=said["operationId"],
        method=method.upper(),
        path=path,
        group=said["tags"][0],
        summary=said["summary"],
        about=said.get("description", ""),
        auth=[name for way in said.get("security", []) for name in way],
        query=[
            _member(
                parameter["name"], {**parameter["schema"], **_about(parameter)}, parameter.get("required")
            )
            for parameter in parameters
        ],
        sent=[
            Body("", "", media, list(_members(content["schema"])))
            for media, content in said.get("requestBody", {}).get("content", {}).items()
        ],
        answers=[_answer(status, answer) for status, answer in said["responses"].items()],
    )


def _answer(status: str, said: Mapping[str, Any]) -> Body:
    contents: dict[str, dict[str, Any]] = said.get("content", {"": {}})
    media, content = next(iter(contents.items()))
    headers = [_member(name, header["schema"], True) for name, header in said.get("headers", {}).items()]
    return Body(status, said["description"], media, headers + list(_members(content.get("schema", {}))))


def _members(schema: Mapping[str, Any], prefix: str = "") -> Iterator[Member]:
    required = schema.get("required", [])
    for name, member in schema.get("properties", {}).items():
        yield _member(prefix + name, member, name in required)
        nested = member.get("items", member)
        dots = "[]." if "items" in member else "."
        yield from _members(nested, f"{prefix}{name}{dots}")


def _member(name: str, schema: Mapping[str, Any], required: bool | None) -> Member:
    return Member(name, schema.get("description", ""), _kind(schema), bool(required))


def _kind(schema: Mapping[str, Any]) -> str:
    """What a value may be, in few words."""
    if choices := schema.get("enum"):
        return " | ".join(map(str, choices))
    types = schema.get("type", "")
    kind = " | ".join(types) if isinstance(types, list) else str(types)
    if "minLength" in schema or "maxLength" in schema:
        kind += f", {schema.get('minLength', 0)}–{schema.get('maxLength', '')}"
    return kind


def _about(parameter: Mapping[str, Any]) -> dict[str, str]:
    return {"description": parameter["description"]} if "description" in parameter else {}
