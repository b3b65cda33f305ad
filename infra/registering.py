"""The error about a value that cannot be registered, with the reason. Pure."""

from infra.words import Words


class NotRegistrableError(ValueError):
    """The value cannot be registered; `reason` says why, for the person who registers it."""

    def __init__(self, reason: Words) -> None:
        super().__init__(str(reason))
        self.reason = reason
