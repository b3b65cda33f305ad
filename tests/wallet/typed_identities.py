"""Identities as people type them into forms."""

from tests.day_inputs import typed_day
from wallet.identity.forms import IdentityForm

TYPED = {
    "given_name": "Nora",
    "family_name": "Newman",
    **typed_day("birth_date", "1999-12-31"),
    "nationalities": "IE",
    "document_kind": "passport",
    "document_number": "P1234567",
    "issuing_country": "ie",
    **typed_day("document_expires_on", "2031-04-12"),
    "reason": "Passport seen",
}


def seen(**changes):
    """The input of an operator for an ordinary document."""
    typed = {
        "given_name": "Nora",
        "family_name": "New",
        **typed_day("birth_date", "1999-12-31"),
        "nationalities": "gb, ie",
        "reason": "Passport seen",
    }
    return IdentityForm(typed | changes)


TYPED_BY_NORA = {
    "given_name": "Nora",
    "family_name": "New",
    **typed_day("birth_date", "1999-12-31"),
    "nationality": "IE",
    "document_kind": "passport",
}
