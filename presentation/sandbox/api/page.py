"""The OpenAPI document as a page reads it: operations by group, what goes in, what comes out. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.utils.translation import gettext as _

from presentation.sandbox.api.description import NEEDED_UNLESS


@dataclass(frozen=True)
class Member:
    """A parameter, or a member of a body; `name` of a nested one has dots."""

    name: str
    about: str
    kind: str
    needed: str  # whether, in words; empty when it may be left out, or is not sent by the reader


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
    auth: str
    query: list[Member]
    headers: list[Member]
    sent: list[Body]
    answers: list[Body]


def groups(document: Mapping[str, Any]) -> list[tuple[str, list[Operation]]]:
    """The operations, in the document's order, by the group they belong to."""
    ways = {name: way["description"] for name, way in document["components"]["securitySchemes"].items()}
    operations = [
        *(_operation(*each, ways, sent=True) for each in _each(document["paths"])),
        *(_operation(*each, ways, sent=False) for each in _each(document["webhooks"])),
    ]
    return [(name, list(some)) for name, some in groupby(operations, key=lambda operation: operation.group)]


def _each(paths: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for path, methods in paths.items():
        for method, said in methods.items():
            yield path, method, said


def _operation(
    path: str, method: str, said: Mapping[str, Any], ways: Mapping[str, str], *, sent: bool
) -> Operation:
    """sent: it is the reader who sends it, and must know what is needed."""
    content = said.get("requestBody", {}).get("content", {})
    return Operation(
        name=said["operationId"],
        method=method.upper(),
        path=path,
        group=said["tags"][0],
        summary=said["summary"],
        about=said.get("description", ""),
        auth=_either([ways.get(name, _("in the body")) for name in _names(said.get("security", []))]),
        query=[_parameter(each, sent=sent) for each in _parameters(said) if each["in"] != "header"],
        headers=[_parameter(each, sent=sent) for each in _parameters(said) if each["in"] == "header"],
        sent=[
            Body("", "", media, list(_members(each["schema"], sent=sent))) for media, each in content.items()
        ],
        answers=[_answer(status, answer) for status, answer in said["responses"].items()],
    )


def _names(security: Sequence[Mapping[str, Any]]) -> list[str]:
    """The ways to authenticate; none of them is one as well, beside others."""
    names = [name for way in security for name in (way or [""])]
    return names if any(names) else []


def _parameters(said: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    parameters: list[Mapping[str, Any]] = said.get("parameters", [])
    return parameters


def _parameter(said: Mapping[str, Any], *, sent: bool) -> Member:
    about = {"description": said["description"]} if "description" in said else {}
    return _member(said["name"], {**said["schema"], **about}, sent and said.get("required", False), sent=sent)


def _answer(status: str, said: Mapping[str, Any]) -> Body:
    contents: dict[str, dict[str, Any]] = said.get("content", {"": {}})
    media, content = next(iter(contents.items()))
    headers = [_member(name, header["schema"], False) for name, header in said.get("headers", {}).items()]
    return Body(status, said["description"], media, headers + list(_members(content.get("schema", {}))))


def _members(schema: Mapping[str, Any], prefix: str = "", *, sent: bool = False) -> Iterator[Member]:
    required = schema.get("required", [])
    for name, member in schema.get("properties", {}).items():
        yield _member(prefix + name, member, sent and name in required, sent=sent)
        nested = member.get("items", member)
        dots = "[]." if "items" in member else "."
        yield from _members(nested, f"{prefix}{name}{dots}", sent=sent)


def _member(name: str, schema: Mapping[str, Any], required: bool, *, sent: bool = False) -> Member:
    others = schema.get(NEEDED_UNLESS, []) if sent else []
    needed = _("needed") if required else ""
    if others:
        needed = _("needed, unless %(others)s is sent") % {"others": _either(others)}
    return Member(name, schema.get("description", ""), _kind(schema), needed)


def _either(names: Sequence[str]) -> str:
    """Several names, of which one will do."""
    if len(names) < 2:
        return "".join(names)
    return _("%(first)s or %(last)s") % {"first": ", ".join(names[:-1]), "last": names[-1]}


def _kind(schema: Mapping[str, Any]) -> str:
    """What a value may be, in few words."""
    if choices := schema.get("enum"):
        return " | ".join(map(str, choices))
    types = schema.get("type", "")
    kind = " | ".join(types) if isinstance(types, list) else str(types)
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    if most is None:
        return kind
    length = _("%(least)d to %(most)d characters") if least > 1 else _("up to %(most)d characters")
    return f"{kind}, {length % {'least': least, 'most': most}}"
