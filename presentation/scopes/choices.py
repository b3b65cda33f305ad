"""Scopes and claims as choices of forms."""

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from infra.words import Words
from presentation.scopes import catalogue
from presentation.scopes.records import ScopeRecord
from wallet.credential.claims import FAMILIES, NAMES, SUBJECT, labels, named

Choices = list[tuple[str, Words]]
# Without the claims that answer a question: there are hundreds of them.
_CLAIMS: Choices = list(zip(NAMES, labels(NAMES.values()), strict=True))
# What may be allowed for DCQL queries; `RelyingParty.may_recognise` allows SUBJECT.
PERMISSIONS: Choices = [choice for choice in _CLAIMS if choice[0] != SUBJECT[0]] + [
    (f"{family}.*", label) for family, label in FAMILIES.items()
]


def _with_names(choices: Choices) -> Choices:
    return [(name, format_lazy("{label} ({name})", label=label, name=name)) for name, label in choices]


# For operators, whose forms show the label only.
NAMED_CLAIMS, NAMED_PERMISSIONS = _with_names(_CLAIMS), _with_names(PERMISSIONS)


def with_urns() -> Choices:
    """For operators: each scope by its URN, with its claims."""
    return [
        (urn, format_lazy("{urn} ({claims})", urn=urn, claims=claims_in_words(scope)))
        for urn, scope in catalogue.current().items()
    ]


def with_claims() -> Choices:
    """For developers: each scope by its claims."""
    return [(urn, claims_in_words(scope)) for urn, scope in catalogue.current().items()]


def claims_in_words(scope: ScopeRecord) -> str:
    """The labels of its claims; those that are optional say so."""
    required = labels(map(named, scope.required))
    optional = labels(map(named, scope.optional))
    marked = [str(_("%(claim)s (optional)") % {"claim": label}) for label in optional]
    return ", ".join([*map(str, required), *marked])
