"""The three exceptions of this library. None of them repeats a value of a person."""

import re


class Denied(Exception):
    """The person or the service said no, so nobody is verified.

    `code` is the `error` of OAuth 2.0, such as `access_denied`; `description` explains it to a developer.
    `reference` is that of a request that was refused when it was pushed, to be found by the operator and, in
    the sandbox, by you. It is empty for an answer, such as the no of a person.
    """

    def __init__(self, code: object, description: object = "", request_id: str = "") -> None:
        # Only the characters of RFC 6749 §4.1.2.1, so that nobody can forge a line of a log.
        self.code = re.sub(r"[^a-z_]", "", str(code))[:64]
        self.description = re.sub(r"[^\x20-\x7e]", "", str(description or ""))[:600]
        self.reference = reference_of(request_id)
        super().__init__(f"{self.code}: {self.description}")


class Rejected(Exception):
    """The answer is forged, changed, too old or for another request. `check` names what failed."""

    def __init__(self, check: str, reason: str) -> None:
        super().__init__(f"{check}: {reason}")
        self.check = check


class Unavailable(Exception):
    """The service cannot be reached. Try again: an answer stays valid for five minutes.

    `retry_after` is after how many seconds, if the service said so, and otherwise 0. `reference` is that of
    the failed call, for its operator; it is empty if there was no response.
    """

    def __init__(self, reason: str, retry_after: float = 0, request_id: str = "") -> None:
        super().__init__(reason)
        self.retry_after, self.reference = retry_after, reference_of(request_id)


def reference_of(request_id: str) -> str:
    """The reference by which the operator finds a call, from its `X-Request-ID`."""
    return re.sub("[^0-9a-f]", "", request_id)[:8].upper()


def demand(condition: object, check: str, reason: str) -> None:
    """Raises `Rejected` unless the condition holds."""
    if not condition:
        raise Rejected(check, reason)
