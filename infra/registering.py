"""The error about a value that cannot be registered, with the reason. Pure."""

from typing import TYPE_CHECKING

from django.utils.functional import Promise

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

    Reason = StrOrPromise
else:
    Reason = str | Promise  # the package with the type is installed for development only


class NotRegistrableError(ValueError):
    """The value cannot be registered; `reason` says why, for the person who registers it."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(str(reason))
        self.reason = reason
