"""The identity providers that the environment names, each with its own variables.

IDENTITY_PROVIDERS=stripe,bank names them in the order in which people are offered them. What begins with
IDENTITY_BANK_ is a setting of `bank`. IDENTITY_BANK_TYPE says what kind of provider that is, unless the
name says it.
"""

import re

from django.core.exceptions import ImproperlyConfigured

from config.variables import listed, text, with_prefix

_NAME = re.compile(r"[a-z][a-z0-9_]{0,29}")


def from_environment(default: str) -> dict[str, dict[str, str]]:
    """Type and settings of each provider, by its name; `default` where IDENTITY_PROVIDERS is not set.

    A variable that ends in _FILE names a file with the value. Raises `ImproperlyConfigured`.
    """
    if text("IDENTITY_PROVIDER"):
        raise ImproperlyConfigured("IDENTITY_PROVIDER is IDENTITY_PROVIDERS now; see docs/operate.md.")
    names = listed("IDENTITY_PROVIDERS") or [default]
    if not all(_NAME.fullmatch(name) for name in names) or len(set(names)) < len(names):
        raise ImproperlyConfigured(
            "IDENTITY_PROVIDERS must be different names between commas, each of small letters, digits and _."
        )
    prefixes = {f"IDENTITY_{name.upper()}_": name for name in names}
    if any(a != b and b.startswith(a) for a in prefixes for b in prefixes):
        raise ImproperlyConfigured("IDENTITY_PROVIDERS: no name may begin with another name and _.")
    return {name: with_prefix(prefix) for prefix, name in prefixes.items()}
