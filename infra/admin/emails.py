"""The admin of the outbox: operators see what became of e-mails, without addresses and contents."""

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.utils import timezone
from django.utils.translation import gettext as _t
from django.utils.translation import gettext_lazy as _

from infra.admin.operations import OperationsAdmin
from infra.admin.read_only import FilteredOnly, ReadOnly
from infra.mail import outbox
from infra.mail.models import OutgoingEmail
from infra.operations import Done, Operation, WrongStateError

State = OutgoingEmail.State


def _send_again(email: OutgoingEmail, values: dict[str, Any], operator: str, now: datetime) -> Done:
    if not outbox.send_again(email.pk, now=now):
        raise WrongStateError
    return Done(_t("To be sent now"))


def _drop(email: OutgoingEmail, values: dict[str, Any], operator: str, now: datetime) -> Done:
    if not outbox.drop(email.pk, now=now):
        raise WrongStateError
    return Done(_t("Dropped"))


@admin.register(OutgoingEmail)
class OutgoingEmailAdmin(FilteredOnly, ReadOnly, OperationsAdmin):
    """The e-mails that wait, and those of the last days."""

    operations = {
        "send_again": Operation(
            label=_("Send again"),
            title=_("Send it again?"),
            question=_(
                "The mail server has refused this e-mail for good. Find out why first: see the reason."
            ),
            run=_send_again,
            states=(State.REFUSED,),
            suits=lambda email: bool(email.sealed_letter) and email.expires_at > timezone.now(),
        ),
        "drop": Operation(
            label=_("Drop"),
            title=_("Drop it?"),
            question=_("The e-mail is not sent, and its content is erased. The person is not told."),
            run=_drop,
            states=(State.WAITING, State.REFUSED),
            irreversible=True,
        ),
    }

    list_display = ("created_at", "purpose", "state", "reason", "tries", "tried_at", "next_try")
    list_display_links = ("created_at",)
    list_filter = ("state", "urgent", "created_at")
    search_fields = ("=id",)
    search_help_text = _("the number of an e-mail, as in the log")
    fields = (
        *("id", "purpose", "urgent", "state", "reason", "tries"),
        *("created_at", "tried_at", "next_try", "expires_at", "ended_at"),
    )

    @admin.display(description=_("next try"))
    def next_try(self, email: OutgoingEmail) -> datetime | None:
        """None if there is none."""
        return email.due_at if email.state == State.WAITING else None
