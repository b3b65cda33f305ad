"""Formats forms, queries, JSON and long text as indented lines of the record."""

import hashlib
import json
from typing import Any

from tests.recorded.masks import Masks

FORM, JSON = "application/x-www-form-urlencoded", "application/json"
LONGEST = 20_000  # characters of a body that are kept as they are
WIDTH = 118  # of a line with several short parts
APART = " · "


class Formatter:
    """Formats the lines of one scenario. `always`: the values that the head of the file lists."""

    def __init__(self, masks: Masks, always: dict[str, str]) -> None:
        self.masks, self._always = masks, always

    def sent(self, body: bytes, content_type: str) -> list[str]:
        """The body of a request."""
        text = body.decode("utf-8", "replace")
        if content_type.startswith(FORM):
            token = "csrfmiddlewaretoken="
            without = "&".join(each for each in text.split("&") if not each.startswith(token))
            return self.pairs(without, "") if without else []
        if content_type.startswith(JSON):
            try:
                return self.json(self.masks.json(json.loads(text)), 2)
            except (ValueError, RecursionError):
                pass
        return self.shortened(self.masks.text(text), 2)

    def pairs(self, text: str, mark: str) -> list[str]:
        """A query, a fragment or a form: short parameters share a line."""
        found = self.masks.pairs(text)
        if found is None:
            return self.shortened(mark + self.masks.text(text), 2)
        always = [name for name, value in found if self._always.get(name) == value]
        always = always if len(always) > 2 and len(set(always)) == len(always) else []
        said = [f"{mark}{', '.join(always)} as always"] if always else []
        for name, value in found:
            if name in always:
                continue
            if isinstance(value, str):
                said += self.shortened(f"{mark}{name} = {visible(value)}", 0)
            else:
                first, *rest = self.json(value, 0)
                said.append("\n".join([f"{mark}{name} = {first}", *rest]))
        return folded(said, 2)

    def json(self, value: Any, indent: int) -> list[str]:
        """A masked JSON value. What fits into a line is on one."""
        return [" " * indent + line for line in _json_lines(value, WIDTH - indent)]

    def json_body(self, value: Any) -> list[str]:
        """The body of an answer. A very long one becomes a hash of each part, which a diff then names."""
        said = self.masks.json(value)
        if len(json.dumps(said)) <= LONGEST:
            return self.json(said, 0)
        lines = []
        for name, part in said.items():
            parts = part.items() if isinstance(part, dict) and len(json.dumps(part)) > 2000 else [("", part)]
            for inner, each in parts:
                text = json.dumps(each, sort_keys=True)
                lines.append(f"{name} {inner}".rstrip() + f": {hashed(text)}")
        return lines

    def shortened(self, text: str, indent: int) -> list[str]:
        """Text line by line. Very long text becomes its length and hash."""
        if len(text) > LONGEST:
            text = hashed(text)
        elif len(text) > 600 and len(set(text)) < 20:
            text = f"{text[:60]}… ({len(text)} characters)"
        return [" " * indent + line for line in text.split("\n")]

    def calls(self, received: list[tuple[str, str, dict[str, str], bytes]]) -> list[str]:
        """What the service has sent to a relying party."""
        said = []
        for method, path, headers, body in received:
            said.append(f"+ the service calls {method} {self.masks.text(path)} of the relying party")
            for name, value in sorted(headers.items()):
                if name.lower() == "webhook-signature":
                    value = "‹signature›"
                if name.lower() != "content-length":
                    said.append(f"  {name}: {self.masks.text(value)}")
            said += self.sent(body, headers.get("Content-Type", "")) if body else []
        return said

    def messages(self, messages: list[Any]) -> list[str]:
        """E-mails."""
        said = []
        for message in messages:
            to, subject = ", ".join(message.to), self.masks.text(message.subject)
            said.append(f"+ the service sends an e-mail to {to}: {subject}")
            said += self.shortened(self.masks.text(message.body), 2)
        return said


def folded(parts: list[str], indent: int) -> list[str]:
    """Lines of as many parts as there is room for; a part of several lines has these to itself."""
    lines: list[str] = []
    shared = ""
    for part in parts:
        if "\n" not in part and shared and indent + len(shared + APART + part) <= WIDTH:
            shared += APART + part
            continue
        lines += [shared] if shared else []
        lines += part.split("\n") if "\n" in part else []
        shared = "" if "\n" in part else part
    lines += [shared] if shared else []
    return [" " * indent + line for line in lines]


def _json_lines(value: Any, width: int) -> list[str]:
    line = visible(json.dumps(value, ensure_ascii=False))
    if len(line) <= width or not value or not isinstance(value, dict | list):
        return [line]
    if isinstance(value, dict):
        parts = [(f"{visible(json.dumps(name, ensure_ascii=False))}: ", each) for name, each in value.items()]
    else:
        parts = [("", each) for each in value]
    lines = ["{" if isinstance(value, dict) else "["]
    shared = False  # whether the next part may stand on the last line
    for number, (name, each) in enumerate(parts, 1):
        first, *rest = _json_lines(each, width - 2 - len(name))
        said = [f"{name}{first}", *rest]
        said[-1] += "," if number < len(parts) else ""
        if shared and not rest and len(f"{lines[-1]} {said[0]}") <= width:
            lines[-1] += f" {said[0]}"
        else:
            lines += [f" {line}" for line in said]
        shared = not rest
    return [*lines, "}" if isinstance(value, dict) else "]"]


def visible(text: str) -> str:
    """The text with unprintable characters escaped."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def hashed(text: str) -> str:
    """The length and hash that replace text that is too long."""
    return f"{len(text)} characters, SHA-256 {hashlib.sha256(text.encode()).hexdigest()}"
