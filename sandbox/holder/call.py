"""A call of the holder for tests, read strictly from JSON. Pure."""

import re
from dataclasses import dataclass
from typing import Any, Self

from infra import strict_json
from infra.strict_json import StrictJsonError
from sandbox.identity_provider.personas import OUTCOMES

DECISIONS = ("share", "decline")
CHOICES = {"persona": tuple(OUTCOMES), "decision": DECISIONS}
LONGEST_URL = 10_000
_VISIBLE = re.compile(r"[!-~]+")


class HolderCallError(ValueError):
    """The body is not a valid call; the text says what to change."""


@dataclass(frozen=True, repr=False)  # the address holds an e-mail address and perhaps a payment
class HolderCall:
    """One call: the address of the request, the persona of the holder, and the decision."""

    authorize_url: str
    persona: str
    decision: str

    @classmethod
    def from_json(cls, body: bytes, *, endpoint: str) -> Self:
        """The call in the body; `endpoint` is the authorization endpoint. Raises `HolderCallError`."""
        members = _object(body)
        if unknown := set(members) - {"authorize_url", *CHOICES}:
            allowed = ", ".join(("authorize_url", *CHOICES))
            raise HolderCallError(f"There are {len(unknown)} unknown members; the body may have {allowed}.")
        chosen = {name: members.get(name, choices[0]) for name, choices in CHOICES.items()}
        for name, choices in CHOICES.items():
            if chosen[name] not in choices:
                raise HolderCallError(f"{name} must be one of {', '.join(choices)}.")
        return cls(_address(members.get("authorize_url"), endpoint), **chosen)


def _object(body: bytes) -> dict[str, Any]:
    try:
        members = strict_json.read(body)
    except StrictJsonError:
        raise HolderCallError("The body must be JSON.") from None
    if not isinstance(members, dict):
        raise HolderCallError("The body must be a JSON object.")
    return members


def _address(url: object, endpoint: str) -> str:
    if not isinstance(url, str) or not url:
        raise HolderCallError("authorize_url is missing: the address your application sends the browser to.")
    if len(url) > LONGEST_URL:
        raise HolderCallError(f"authorize_url must have at most {LONGEST_URL} characters.")
    if not _VISIBLE.fullmatch(url):
        raise HolderCallError("authorize_url must be percent-encoded: visible ASCII characters only.")
    if url.partition("?")[0] != endpoint:
        raise HolderCallError(f"authorize_url must begin with {endpoint}?")
    return url
