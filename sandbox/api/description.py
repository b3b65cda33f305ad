"""The description of the endpoints, docs/openapi.yaml, with the addresses of this service."""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, reduce
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import yaml
from django.conf import settings
from django.utils.translation import gettext as _

from sandbox.guide.document import LOCAL

FORM = "application/x-www-form-urlencoded"

Node = Mapping[str, Any]


class Member(NamedTuple):
    """A parameter, a header, or a member of a body. The name of a nested member contains dots."""

    name: str
    about: str
    kind: str
    required: str  # in words; empty if it is optional


class Body(NamedTuple):
    """A request body, or the response with one status."""

    status: str
    about: str
    media: str
    members: list[Member]
    examples: list[tuple[str, str]]  # heading and text of each


@cache
def description(base_url: str) -> dict[str, Any]:
    """docs/openapi.yaml with the addresses of the service at `base_url`."""
    text = (settings.BASE_DIR / "docs" / "openapi.yaml").read_text()
    loaded: dict[str, Any] = yaml.safe_load(text.replace(LOCAL, base_url))
    return loaded


@cache
def resolved(base_url: str) -> dict[str, Any]:
    """The description with each `$ref` replaced by its target. Members beside a `$ref` take precedence."""
    whole = description(base_url)

    def resolve(node: Any) -> Any:
        if isinstance(node, list):
            return [resolve(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            names = node["$ref"].removeprefix("#/").split("/")
            node = {**reduce(lambda inside, name: inside[name], names, whole), **node}
        return {name: resolve(value) for name, value in node.items() if name != "$ref"}

    made: dict[str, Any] = resolve(whole)
    return made


@cache
def groups(base_url: str) -> list[tuple[Node, list[dict[str, Any]]]]:
    """Each tag with its operations, in the order of the document, for the page."""
    whole = resolved(base_url)
    ways = {name: way["description"] for name, way in whole["components"]["securitySchemes"].items()}
    operations = [
        _operation(path, method, node, ways)
        | {
            "is_sent_by_reader": kind == "paths",
            "curl": _command(base_url, path, node) if kind == "paths" else "",
        }
        for kind in ("paths", "webhooks")
        for path, methods in whole[kind].items()
        for method, node in methods.items()
    ]
    return [
        (tag, [operation for operation in operations if tag["name"] in operation["tags"]])
        for tag in whole["tags"]
    ]


def _command(base_url: str, path: str, node: Node) -> str:
    """The curl command to copy into a shell."""
    plain = f'curl -sS "{base_url}{path}"'.replace("{number}", "1")
    return _commands(base_url).get(node["operationId"], plain)


@cache
def _commands(base_url: str) -> dict[str, str]:
    """Those of the operations that take more than their address."""
    text = (Path(__file__).parent / "curl.yaml").read_text()
    loaded: dict[str, str] = yaml.safe_load(text.replace(LOCAL, base_url))
    return loaded


def errors(base_url: str) -> list[tuple[str, list[Member]]]:
    """The description and the members of each kind of error."""
    schemas = resolved(base_url)["components"]["schemas"]
    kinds = [schemas["Error"], schemas["AuthorizationError"]]
    return [(schema["description"], list(_members(schema))) for schema in kinds]


def _operation(path: str, method: str, node: Node, ways: Node) -> dict[str, Any]:
    """The operation with further members for the page. `ways` describes each security scheme."""
    parameters = [
        (parameter["in"] == "header", _parameter(parameter)) for parameter in node.get("parameters", [])
    ]
    names = [name for way in node.get("security", []) for name in (way or [""])]
    return {
        **node,
        "path": path,
        "method": method.upper(),
        "authentication": _either([ways.get(name, _("in the body")) for name in names]) if any(names) else "",
        "query": [member for is_header, member in parameters if not is_header],
        "headers": [member for is_header, member in parameters if is_header],
        "sent": _body("", node["requestBody"]) if "requestBody" in node else None,
        "answers": [_body(status, answer) for status, answer in node["responses"].items()],
    }


def _parameter(node: Node, name: str = "") -> Member:
    """A parameter, or the header with this name."""
    schema = {**node["schema"], **({"description": node["description"]} if "description" in node else {})}
    return _member(name or node["name"], schema, required=node.get("required", False))


def _body(status: str, node: Node) -> Body:
    """A request body, or a response. The members of errors are left out: the page explains them once."""
    media, content = next(iter(node.get("content", {"": {}}).items()))
    members = [_parameter(header, name) for name, header in node.get("headers", {}).items()]
    examples = []
    if status < "400":
        members += _members(content.get("schema", {}))
        examples = [
            (example.get("summary", ""), _written(example["value"], media))
            for example in content.get("examples", {}).values()
        ]
    return Body(status, node.get("description", ""), media, members, examples)


def _written(example: Any, media: str) -> str:
    if media == FORM:
        return urlencode(example).replace("&", "\n&")
    return json.dumps(example, indent=2, ensure_ascii=False)


def _members(schema: Node, prefix: str = "") -> Iterator[Member]:
    for name, member in schema.get("properties", {}).items():
        yield _member(prefix + name, member, required=name in schema.get("required", []))
        dots = "[]." if "items" in member else "."
        yield from _members(member.get("items", member), f"{prefix}{name}{dots}")


def _member(name: str, schema: Node, *, required: bool) -> Member:
    in_words = _("required") if required else ""
    if others := schema.get("x-required-unless"):
        in_words = _("required unless %(others)s is sent") % {"others": _either(others)}
    return Member(name, schema.get("description", ""), _kind(schema), in_words)


def _either(names: Iterable[str]) -> str:
    *first, last = names
    return _("%(first)s or %(last)s") % {"first": ", ".join(first), "last": last} if first else last


def _kind(schema: Node) -> str:
    """The values that the schema allows, in a few words."""
    if choices := schema.get("enum"):
        return " | ".join(map(str, choices))
    types = schema.get("type", "")
    kind = " | ".join(types) if isinstance(types, list) else str(schema.get("format", types))
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    if most is None:
        return kind
    length = _("%(least)d to %(most)d characters") if least > 1 else _("up to %(most)d characters")
    return f"{kind}, {length % {'least': least, 'most': most}}"
