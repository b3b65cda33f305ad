"""The consequences of a withdrawal for holders and relying parties, shown before it is done."""

from datetime import datetime

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from keys.models import IdTokenKey, Key, SigningKey, StatementKey
from keys.rotation import usage
from keys.rotation.states import State, fits, in_state


def stops_signing(key: Key, *, now: datetime) -> bool:
    """Whether its withdrawal stops the service for everybody: it signs, and no other key can."""
    successor = in_state(State.STAGED)
    succeeded = settings.SELF_CERTIFYING_AUTHORITY or (successor is not None and fits(successor, now))
    return key.state == State.ACTIVE and not succeeded and isinstance(key, SigningKey)


def cost_of_withdrawal(key: Key, *, now: datetime) -> str:
    """The sentences for the operator who is about to withdraw the key."""
    if key.state == State.WITHDRAWN:
        return _("The key is withdrawn already.")
    if key.state == State.STAGED:
        return _("It has signed nothing yet, so nobody notices. Another key can be staged at once.")
    if isinstance(key, StatementKey):
        return _(
            "Nothing that it signed counts as genuine any more: evidence of applications, saved receipts."
        )
    if isinstance(key, IdTokenKey):
        return _(
            "ID tokens that it signed in the last minutes become invalid. Until another key for them signs, "
            "applications that are registered for RS256 cannot exchange a code."
        )
    sentences = [_lost_credentials(key, now)]
    if key.state == State.ACTIVE:
        sentences.append(_succession(now))
    if stops_signing(key, now=now):
        said = _("This stops the service for everybody. Active relying parties: %(count)d.")
        sentences.append(said % {"count": usage.count_relying_parties()})
    return " ".join(sentences)


def _lost_credentials(key: Key, now: datetime) -> str:
    count = usage.count_credentials(key.pk, now)
    counted = ngettext(
        "%(count)d unexpired credential that it signed becomes invalid:",
        "%(count)d unexpired credentials that it signed become invalid:",
        count,
    )
    return " ".join(
        [
            counted % {"count": count},
            _("relying parties see that within the hour, as soon as they fetch the key set or status again."),
            _("Holders must present again."),
        ]
    )


def _succession(now: datetime) -> str:
    successor = in_state(State.STAGED)
    if successor and fits(successor, now):
        sentence = _("Key %(kid)s signs from then on;") % {"kid": successor}
    elif settings.SELF_CERTIFYING_AUTHORITY:
        sentence = _("A new key is made and signs from then on;")
    else:
        return _(
            "No other key is staged and certified, so nothing can be issued until one is: stage it, have "
            "its request signed, install the chain, activate it."
        )
    return f"{sentence} " + _(
        "relying parties whose copy of the key set lacks it refuse new credentials for up to an hour."
    )
