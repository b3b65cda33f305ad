"""A curl command for each operation of the API description, to copy into a shell. Pure."""

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

Node = Mapping[str, Any]
FORM = "application/x-www-form-urlencoded"
_OF_THE_READER = {"client_id": "$CLIENT_ID"}  # set by the reader, as in the guide
_CREDENTIALS = {
    "client_secret": '-u "$CLIENT_ID:$CLIENT_SECRET"',
    "access_token": '-H "Authorization: Bearer $TOKEN"',
}
_TEXT = ("text", "json", "jwt", "pem")


def command(base_url: str, path: str, method: str, node: Node, values: Node) -> str:
    """The command that sends one operation, over several lines.

    node: the operation, resolved. values: of parameters, by name; those that it lacks are left out, unless
    they are in the path, where the value is 1.
    """
    address = base_url + path.split("{")[0] + ("1" if "{" in path else "")
    parts = [f'curl -sS "{address}"', *_authentication(node), *_query(node, values), *_body(node)]
    if redirects(node):
        parts.insert(1, "-D - -o /dev/null")  # what matters is the Location header
    elif _is_binary(node):
        parts.insert(1, "-O")
    if method.lower() == "post" and "requestBody" not in node:
        parts.insert(1, "-X POST")
    return " \\\n  ".join(parts)


def redirects(node: Node) -> bool:
    """Whether the operation answers with a redirect."""
    return any(str(status).startswith("3") for status in node["responses"])


def _authentication(node: Node) -> Iterator[str]:
    """The first of the ways in which the client can authenticate."""
    for way in node.get("security", [])[:1]:
        for name in way:
            if name in _CREDENTIALS:
                yield _CREDENTIALS[name]


def _query(node: Node, values: Node) -> Iterator[str]:
    known = _OF_THE_READER | dict(values)
    named = [each["name"] for each in node.get("parameters", []) if each["in"] == "query"]
    sent = [_field(name, known[name]) for name in named if name in known]
    if sent:
        yield "-G"
    yield from sent


def _body(node: Node) -> Iterator[str]:
    """The first example of the body."""
    for media, content in node.get("requestBody", {}).get("content", {}).items():
        examples: list[Node] = list(content.get("examples", {}).values())
        example = examples[0]["value"] if examples else {}
        if media == FORM:
            yield from (_field(name, value) for name, value in example.items())
        else:
            yield f'-H "Content-Type: {media}"'
            yield f"-d {shlex.quote(json.dumps(example, ensure_ascii=False))}"
        return


def _field(name: str, value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    quoted = f'"{name}={text}"' if text.startswith("$") else shlex.quote(f"{name}={text}")
    return f"--data-urlencode {quoted}"


def _is_binary(node: Node) -> bool:
    good: list[Node] = [answer for status, answer in node["responses"].items() if str(status) < "300"]
    kinds = [media for answer in good for media in answer.get("content", {})]
    return any(not any(word in media for word in _TEXT) for media in kinds)
