"""The form of the simulated provider."""

from django import forms
from django.utils.translation import gettext_lazy as _

from sandbox.identity_provider.personas import OUTCOMES


class OutcomeForm(forms.Form):
    """The outcome of the identity check."""

    outcome = forms.ChoiceField(
        label=_("What should happen?"),
        choices=[(key, outcome.label) for key, outcome in OUTCOMES.items()],
        error_messages={"required": _("Pick what should happen.")},
    )
