"""Forms posted to endpoints for machines (RFC 6749 §3.2, Appendix B): each parameter once. Pure."""

from presentation.machine_errors import MachineError
from presentation.parameters import decoded

MOST = 50  # parameters


def read(body: bytes) -> dict[str, str]:
    """The values by name. A parameter without a value counts as left out. Raises MachineError."""
    try:
        text = body.decode("ascii")
    except UnicodeDecodeError:
        raise MachineError("The body must be percent-encoded ASCII.") from None
    pairs = [pair for pair in text.split("&") if pair]
    if len(pairs) > MOST:
        raise MachineError(f"The body has more than {MOST} parameters.")
    values: dict[str, str] = {}
    for pair in pairs:
        name, _equals, raw = pair.partition("=")
        key, value = decoded(name), decoded(raw)
        if key is None or value is None:
            raise MachineError("Every parameter must be percent-encoded UTF-8 without NUL.")
        if key in values:
            raise MachineError("A parameter must not be sent more than once.")
        values[key] = value
    return {key: value for key, value in values.items() if value}
