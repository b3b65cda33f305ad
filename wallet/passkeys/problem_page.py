"""The page that says why a passkey was refused and what to do next."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _

from infra.words import Words
from wallet.models import RedirectTask
from wallet.passkeys.errors import PasskeyError

POSTED = "passkey"  # the field of a form in which scripts post what the browser made

# Code of `errors` → status, heading and text.
PROBLEMS: dict[str, tuple[int, Words, Words]] = {
    "unreadable": (
        422,
        _("Your passkey did not arrive"),
        _("Your browser sent something that we can’t read. Try again, or use a code from an e-mail."),
    ),
    "too_late": (
        410,
        _("That took too long"),
        _("A passkey has to be used within five minutes, and once each time. Try again."),
    ),
    "unknown": (
        403,
        _("We don’t know this passkey"),
        _("It was removed from its wallet. Use another passkey, or a code from an e-mail."),
    ),
    "other": (
        403,
        _("This passkey is for another wallet"),
        _("Use a passkey of the wallet that is asked for here, or a code from an e-mail."),
    ),
    "refused": (
        403,
        _("Your passkey was not accepted"),
        _(
            "Unlock it with your fingerprint, your face or your PIN when your device asks you. Try again, or "
            "use a code from an e-mail."
        ),
    ),
    "copied": (
        403,
        _("Your passkey was not accepted"),
        _(
            "It was used less often than we have counted, so somebody may have a copy of it. Use a code from "
            "an e-mail, and remove this passkey under “Sign-in and security”."
        ),
    ),
    "too_many": (
        409,
        _("Your wallet has 20 passkeys"),
        _("It can’t have more. Remove one that you no longer use, then add this one."),
    ),
    "known_already": (
        409,
        _("This passkey is in use already"),
        _("It belongs to a wallet. Add a passkey on another device."),
    ),
}


def problem(
    request: HttpRequest,
    error: PasskeyError,
    *,
    back: str,
    redirect_task: RedirectTask | None = None,
    signed_in_as: str = "",
) -> HttpResponse:
    """The page for this error. back: the path where the person can try again or use a code."""
    status, heading, text = PROBLEMS[error.code]
    facts = {
        "heading": heading,
        "text": text,
        "back": back,
        "redirect_task": redirect_task,
        "signed_in_as": signed_in_as,
    }
    response = render(request, "wallet/passkeys/problem.html", facts, status=status)
    response.headers["Cache-Control"] = "no-store"
    return response
