"""The operations on credentials, and on presented credentials."""

from functools import partial

from django.utils.translation import gettext_lazy as _

from wallet.credential import revocation
from wallet.models import Credential
from wallet.operations.with_reason import needs_reason, presented_count, with_reason
from wallet.status_lists import changes
from wallet.status_lists.changes import Action, Status

OF_CREDENTIALS = {
    "suspend": needs_reason(
        label=_("Suspend"),
        question=_(
            "Nothing can be shared from it until it is reinstated, and a new check does not replace it."
        ),
        run=with_reason(revocation.suspend, _("Suspended")),
        states={Credential.State.VALID},
        details=presented_count(revocation.presented),
    ),
    "reinstate": needs_reason(
        label=_("Reinstate"),
        question=_("It can be shared again."),
        run=with_reason(revocation.reinstate, _("Reinstated")),
        states={Credential.State.SUSPENDED},
    ),
    "revoke": needs_reason(
        label=_("Revoke"),
        question=_("This cannot be undone. Its holder has to be verified again."),
        run=with_reason(revocation.revoke, _("Revoked")),
        states={Credential.State.VALID, Credential.State.SUSPENDED},
        details=presented_count(revocation.presented),
        irreversible=True,
    ),
}
OF_PRESENTED = {
    "invalidate": needs_reason(
        label=_("Invalidate"),
        question=_("This cannot be undone. Relying parties are told that it is invalid until it ends."),
        run=with_reason(partial(changes.change_presented, action=Action.INVALIDATED), _("Invalidated")),
        states={Status.VALID, Status.SUSPENDED},
        irreversible=True,
    ),
    "suspend": needs_reason(
        label=_("Suspend"),
        question=_("Relying parties are told that it is suspended, until it is reinstated or ends."),
        run=with_reason(partial(changes.change_presented, action=Action.SUSPENDED), _("Suspended")),
        states={Status.VALID},
    ),
    "reinstate": needs_reason(
        label=_("Reinstate"),
        question=_("Relying parties are told that it is valid, unless its credential, wallet or key is not."),
        run=with_reason(partial(changes.change_presented, action=Action.REINSTATED), _("Reinstated")),
        states={Status.SUSPENDED},
    ),
    "invalidate-signed": needs_reason(
        label=_("Invalidate all that its key signed"),
        question=_(
            "This cannot be undone, and it concerns everybody who presented since the key began to sign. "
            "If the key was stolen, withdraw it instead: that invalidates the same and ends the key."
        ),
        run=with_reason(changes.invalidate_all_by_key_of, _("Invalidated all that its key signed")),
        details=presented_count(changes.by_key_of),
        needs="keys.change_signingkey",  # it affects all holders
        irreversible=True,
    ),
}
