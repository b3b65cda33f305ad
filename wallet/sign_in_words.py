"""What is said about a wrong code, on every page that asks for one."""

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import ngettext


def wrong_code(tries_left: int) -> ValidationError:
    """The error of the field: how many tries are left, or that the code no longer works."""
    if not tries_left:
        return ValidationError(_("That code no longer works. Send a new one."), code="used_up")
    text = ngettext(
        "That is not the code. You can try once more.",
        "That is not the code. You can try %(count)d more times.",
        tries_left,
    )
    return ValidationError(text, params={"count": tries_left}, code="wrong")
