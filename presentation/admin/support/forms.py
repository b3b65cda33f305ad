"""The form of the support view."""

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from infra.reasons import ReasonField
from presentation.admin.support.search import LONGEST

SHORTEST_REASON = 5


def no_address(text: str) -> None:
    """Refuses a reason that contains an e-mail address: reasons are kept for ever."""
    if "@" in text:
        raise ValidationError(_("Leave e-mail addresses out: the reason is kept for ever."))


class LookUpForm(forms.Form):
    """What is looked for, and why."""

    required_css_class = "required"

    term = forms.CharField(
        label=_("E-mail address, receipt number or reference"),
        max_length=LONGEST,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "class": "vTextField"}),
        help_text=_(
            "The whole e-mail address; a receipt number; the ID of a wallet, a request, an identity check or "
            "a webhook; a case number; or the eight characters by which the start page names a request."
        ),
    )
    reason = ReasonField(
        min_length=SHORTEST_REASON,
        validators=[no_address],
        help_text=_(
            "Why you look, such as the number of a support ticket. It is recorded together with your name."
        ),
    )
