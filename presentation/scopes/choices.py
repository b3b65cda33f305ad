"""Scopes and claims as choices of forms."""

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from presentation.scopes import catalogue
from presentation.scopes.records import ScopeRecord
from wallet.credential.claims import FAMILIES, NAMES, SUBJECT, Text, labels, named

# Without the claims that answer a question: there are hundreds of them.
CLAIMS = [
    (name, format_lazy("{label} ({name})", label=label, name=name))
    for name, label in zip(NAMES, labels(NAMES.values()), strict=True)
]
# What may be allowed for DCQL queries; `RelyingParty.may_recognise` allows SUBJECT.
PERMISSIONS = [each for each in CLAIMS if each[0] != SUBJECT[0]] + [
    (f"{family}.*", format_lazy("{label} ({family}.*)", label=label, family=family))
    for family, label in FAMILIES.items()
]


def with_urns() -> list[tuple[str, Text]]:
    """For operators: each scope by its URN, with its claims."""
    return [
        (urn, format_lazy("{urn} ({claims})", urn=urn, claims=claims_in_words(scope)))
        for urn, scope in catalogue.current().items()
    ]


def with_claims() -> list[tuple[str, Text]]:
    """For developers: each scope by its claims."""
    return [(urn, claims_in_words(scope)) for urn, scope in catalogue.current().items()]


def claims_in_words(scope: ScopeRecord) -> str:
    """The labels of its claims; those that are optional say so."""
    required = labels(map(named, scope.required))
    optional = labels(map(named, scope.optional))
    marked = [str(_("%(claim)s (optional)") % {"claim": label}) for label in optional]
    return ", ".join([*map(str, required), *marked])
