"""The operations of operators on a relying party: suspend, reinstate, new secrets."""

from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _t
from django.utils.translation import gettext_lazy as _

from infra.operations import Done, Operation
from presentation.admin import webhooks
from presentation.admin.relying_parties import client_secret_page
from presentation.models import RelyingParty
from presentation.relying_parties import registration
from presentation.relying_parties.forms import SuspensionForm


def _suspend(party: RelyingParty, values: dict[str, Any], operator: str, now: datetime) -> Done:
    registration.suspend(party, values["reason"])
    return Done(_t("Suspended: %(reason)s") % values)


def _reinstate(party: RelyingParty, values: dict[str, Any], operator: str, now: datetime) -> Done:
    registration.reinstate(party)
    return Done(_t("Reinstated"))


OPERATIONS = {
    "secrets": Operation(label=_("Client secrets"), page=client_secret_page.page),
    "suspend": Operation(
        label=_("Suspend"),
        title=lambda party: _t("Suspend %(name)s?") % {"name": party.name},
        question=_(
            "From now on it gets no credentials, and nothing is sent to it. People it sends here, or who are "
            "in the middle of a request, see a page saying it is unavailable."
        ),
        run=_suspend,
        states={RelyingParty.State.ACTIVE},
        form=SuspensionForm,
    ),
    "reinstate": Operation(
        label=_("Reinstate"),
        title=lambda party: _t("Reinstate %(name)s?") % {"name": party.name},
        question=lambda party: (
            _t("It was suspended for this reason: “%(reason)s”. From now on it may ask again.")
            % {"reason": party.suspension_reason}
        ),
        run=_reinstate,
        states={RelyingParty.State.SUSPENDED},
    ),
    "webhook_secret": Operation(
        label=_("Webhook secret"),
        page=webhooks.secret_page,
        suits=lambda party: bool(party.webhook_url),
    ),
}
