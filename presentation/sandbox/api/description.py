"""What an endpoint is described with: what it is for, what goes in, what comes out (`described`). Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext_lazy as _

from presentation.sandbox.wording import Text

JSON, FORM = "application/json", "application/x-www-form-urlencoded"
HTML, PLAIN = "text/html; charset=utf-8", "text/plain; charset=utf-8"
REQUESTS = _("Requests")
Schema = dict[str, Any]
NEEDED_UNLESS = "x-needed-unless"  # in a schema: which others may be sent instead


@dataclass(frozen=True)
class Answer:
    """What comes back with one status."""

    status: int
    about: Text
    schema: Schema | None = None
    media: str = JSON
    headers: Sequence[str] = ()


@dataclass(frozen=True)
class Described:
    """One endpoint. `auth`: names of `SECURITY`, any of which will do; "" is none of them."""

    path: str
    method: str
    name: str
    group: Text
    summary: Text
    answers: Sequence[Answer]
    about: Text = ""
    query: Mapping[str, tuple[Text, Schema]] = field(default_factory=dict)
    body: Mapping[str, Schema] = field(default_factory=dict)  # media type → schema
    auth: Sequence[str] = ("",)


def text(about: Text = "", **more: Any) -> Schema:
    """A string."""
    return {"type": "string", **({"description": about} if about else {}), **more}


def texts(about: Text = "", **more: Any) -> Schema:
    """An array of strings."""
    return {"type": "array", "items": text(**more), **({"description": about} if about else {})}


def members(required: str, **properties: Schema) -> Schema:
    """An object with these members; `required` names those that are always there."""
    return {"type": "object", "properties": properties, "required": required.split()}


ERROR = members(
    "error error_description",
    error=text(_("A code to act on.")),
    error_description=text(_("One sentence for developers.")),
)
_BASIC, _BEARER = _("client_id and client secret (HTTP Basic)"), _("an access token (Bearer)")
SECURITY: dict[str, Schema] = {
    "client_secret": {
        "type": "http",
        "scheme": "basic",
        "description": _BASIC,
    },
    "access_token": {"type": "http", "scheme": "bearer", "description": _BEARER},
}


def refused(status: int, about: Text, *headers: str) -> Answer:
    """An error as JSON."""
    return Answer(status, about, ERROR, headers=headers)


# What endpoints for machines may say.
MALFORMED = refused(400, _("Something in the request is wrong: error_description says what."))
TOO_LARGE = refused(413, _("The body is longer than any good one."))
TOO_OFTEN = refused(429, _("Too often; Retry-After says how many seconds to wait."), "Retry-After")
NOT_YOU = refused(401, _("Not authenticated; WWW-Authenticate says how to be."), "WWW-Authenticate")
NOT_GRANTED = refused(403, _("The access token is good, but not for this."), "WWW-Authenticate")
NO_LENGTH = refused(411, _("The body came in chunks; send it in one piece, with Content-Length."))
OUR_FAULT = refused(500, _("Something broke here; error_description has a reference to quote."))
UNAVAILABLE = refused(503, _("Not at the moment; Retry-After says how many seconds to wait."), "Retry-After")
ALWAYS = (MALFORMED, TOO_OFTEN, OUR_FAULT, UNAVAILABLE)
WITH_BODY = (*ALWAYS, NO_LENGTH, TOO_LARGE)
