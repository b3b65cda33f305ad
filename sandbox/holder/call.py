"""A call of the holder for tests, read strictly from JSON. Pure."""

import re
from dataclasses import dataclass
from typing import Any, Self

from infra import strict_json
from infra.strict_json import StrictJsonError
from presentation.machine_errors import MachineError
from sandbox.identity_provider.personas import OUTCOMES
from wallet.credential.claims import is_named

DECISIONS = ("share", "decline")
CHOICES = {"persona": tuple(OUTCOMES), "decision": DECISIONS}
LONGEST_URL = 10_000
_VISIBLE = re.compile(r"[!-~]+")


@dataclass(frozen=True, repr=False)  # the address holds an e-mail address and perhaps a payment
class HolderCall:
    """One call: the address of the request, the persona of the holder, the decision, and with it the names of
    the optional claims that are switched on.
    """

    authorize_url: str
    persona: str
    decision: str
    optional: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, body: bytes, *, endpoint: str) -> Self:
        """The call in the body; `endpoint` is the authorization endpoint. Raises `MachineError`."""
        members = _object(body)
        if unknown := set(members) - {"authorize_url", "optional", *CHOICES}:
            allowed = ", ".join(("authorize_url", *CHOICES, "optional"))
            raise MachineError(f"There are {len(unknown)} unknown members; the body may have {allowed}.")
        chosen = {name: members.get(name, choices[0]) for name, choices in CHOICES.items()}
        for name, choices in CHOICES.items():
            if chosen[name] not in choices:
                raise MachineError(f"{name} must be one of {', '.join(choices)}.")
        address = _address(members.get("authorize_url"), endpoint)
        return cls(address, **chosen, optional=_optional(members.get("optional", [])))


def _object(body: bytes) -> dict[str, Any]:
    try:
        members = strict_json.read(body)
    except StrictJsonError:
        raise MachineError("The body must be JSON.") from None
    if not isinstance(members, dict):
        raise MachineError("The body must be a JSON object.")
    return members


def _optional(names: object) -> tuple[str, ...]:
    if not isinstance(names, list) or not all(map(is_named, names)):
        raise MachineError("optional must be a list of names of claims, such as nationalities.")
    return tuple(dict.fromkeys(names))


def _address(url: object, endpoint: str) -> str:
    if not isinstance(url, str) or not url:
        raise MachineError("authorize_url is missing: the address your application sends the browser to.")
    if len(url) > LONGEST_URL:
        raise MachineError(f"authorize_url must have at most {LONGEST_URL} characters.")
    if not _VISIBLE.fullmatch(url):
        raise MachineError("authorize_url must be percent-encoded: visible ASCII characters only.")
    if url.partition("?")[0] != endpoint:
        raise MachineError(f"authorize_url must begin with {endpoint}?")
    return url
