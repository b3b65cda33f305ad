"""Where a relying party wants to be told, and of what: whether that can be registered."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from infra.outbound import targets

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


def problem_with(url: str, events: Sequence[str]) -> "StrOrPromise | None":
    """What is wrong with the address, for the operator who typed it in; None when nothing is."""
    if not url:
        return _("Enter where the events are sent, or choose none.") if events else None
    try:
        targets.parse(url, loopback=settings.LOOPBACK_CALLS)
    except targets.TargetError as error:
        return error.reason
    return None
