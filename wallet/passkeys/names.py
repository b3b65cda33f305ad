"""The name that a new passkey has until the holder gives it another. Pure."""

from collections.abc import Collection

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy

MOST = 60  # characters

# What a User-Agent contains → the kind of device. The first match counts: Android's contains Linux too.
_DEVICES = (
    ("iPhone", _lazy("iPhone")),
    ("iPad", _lazy("iPad")),
    ("Android", _lazy("Android device")),
    ("Windows", _lazy("Windows computer")),
    ("Mac OS X", _lazy("Mac")),
    ("CrOS", _lazy("Chromebook")),
    ("Linux", _lazy("Linux computer")),
)


def default(*, transports: Collection[str], attached: bool, user_agent: str, taken: Collection[str]) -> str:
    """The kind of the authenticator, with a number if a passkey of the wallet has that name.

    transports, attached: as in `reading.PostedKey`. user_agent: of the browser in which it was added.
    """
    name = _kind(transports, attached, user_agent)
    number = 1
    while (found := name if number == 1 else f"{name} ({number})") in taken:
        number += 1
    return found


def _kind(transports: Collection[str], attached: bool, user_agent: str) -> str:
    if not attached:
        if "hybrid" in transports:
            return _("Phone or tablet")
        if {"usb", "nfc", "ble", "smart-card"}.intersection(transports):
            return _("Security key")
    for part, words in _DEVICES:
        if part in user_agent:
            return str(words)
    return _("Passkey")
