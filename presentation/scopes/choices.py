"""The scopes as choices of forms, read each time a form is shown."""

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from presentation.scopes import catalogue
from presentation.scopes.records import ScopeRecord
from wallet.credential.claims import NAMES, Text, labels


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
    required = labels(NAMES[name] for name in scope.required)
    optional = labels(NAMES[name] for name in scope.optional)
    marked = [str(_("%(claim)s (optional)") % {"claim": label}) for label in optional]
    return ", ".join([*map(str, required), *marked])
