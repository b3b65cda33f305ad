"""Whether the number of a person is the same each time: `sub` (OpenID Connect Core 1.0 §2, §8.1).

The column is `may_recognise`, which also allows `pairwise_subject`. Who registers a client of OpenID Connect
has to choose, because neither would do for all: a product may need the same number, and a holder cannot be
recognised by another one each time.
"""

from enum import StrEnum

from django.utils.translation import gettext_lazy as _

from presentation.models import RelyingParty


class Sub(StrEnum):
    """The choices, by their names in the command and in the forms."""

    SAME = "same"
    ANOTHER = "another"


# What each choice is called, and what it means.
SUB = {
    Sub.SAME: (
        _("one number for each person"),
        _(
            "The application recognises who comes back. Most products of OpenID Connect need this: they find "
            "the account of a person by sub."
        ),
    ),
    Sub.ANOTHER: (
        _("another number each time"),
        _(
            "Nobody can recognise the person by it. With most products of OpenID Connect, a second sign-in "
            "makes a second account: django-allauth, for example, shows “Signup” again."
        ),
    ),
}
NEEDED = _("OpenID Connect needs this choice: one number for each person (sub), or another each time.")


def must_choose(wire_format: object) -> bool:
    """Whether a registration with this format has to say which."""
    return wire_format == RelyingParty.WireFormat.OPENID_CONNECT


def sub_of(party: RelyingParty) -> Sub:
    """The choice of a registered relying party."""
    return Sub.SAME if party.may_recognise else Sub.ANOTHER
