"""The type metadata of the credential (SD-JWT VC §5), published at the address in `vct`.

What is published stays: only claims that are not mandatory and labels in further languages may join it, and a
description may become more exact. Any other change is a new version of the type, at a new address (§6).
"""

import json
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.utils.translation import gettext_lazy as _
from django.utils.translation import override

from infra.published.documents import PublishedDocument
from infra.words import Words
from wallet.credential.claims import CLAIMS, GROUPS, ClaimPath
from wallet.credential.credentials import credential_type

LOCALE = "en-GB"  # the first; descriptions, which are for developers, are in this language alone
NAME = _("Verified identity")
# Registered claims that are never selectively disclosable (SD-JWT VC §2.2.2.3), with their descriptions.
PLAIN = {
    "iss": "The issuer; its keys are found by discovery.",
    "vct": "The type of the credential: the address of this document.",
    "iat": "When it was issued, down to the hour.",
    "exp": "Until when it may be accepted.",
    "cnf": "The key that signs the key binding; a new one in every credential.",
}


def document() -> bytes:
    """The type metadata as JSON bytes."""
    claims = [
        *(_claim((name,), name, description, withheld="never") for name, description in PLAIN.items()),
        *(
            _claim(path, label, description, mandatory=_is_always_there(path))
            for path, (label, description) in GROUPS.items()
        ),
        *(
            _claim(claim.path, claim.label, claim.description, mandatory=not claim.optional)
            for claim in CLAIMS.values()
        ),
    ]
    description = "Who somebody is and how old, as found by identity verification."
    display = list(_display("name", NAME, description))
    metadata = {
        "vct": credential_type(),
        "name": display[0]["name"],
        "description": description + " Minted anew for every presentation.",
        "display": display,
        "claims": claims,
    }
    return json.dumps(metadata, indent=2, ensure_ascii=False).encode()


def _is_always_there(group: ClaimPath) -> bool:
    return any(not claim.optional for path, claim in CLAIMS.items() if path[:-1] == group)


def _claim(
    path: ClaimPath, label: Words, description: str, *, withheld: str = "always", mandatory: bool = True
) -> dict[str, Any]:
    """Claim metadata (§5.6); whether a claim can be withheld is said for each path by itself."""
    return {
        "path": list(path),
        "display": list(_display("label", label, description)),
        "mandatory": mandatory,
        "sd": withheld,
    }


def _display(member: str, text: Words, description: str) -> Iterator[dict[str, str]]:
    """The text in each language, English first; names on the wire, which have no translation, only once."""
    with override(LOCALE.lower()):
        yield {"locale": LOCALE, member: str(text), "description": description}
    for language, _name in settings.LANGUAGES:
        if language != LOCALE.lower() and not isinstance(text, str):
            with override(language):
                yield {"locale": language, member: str(text)}


# It changes only with a new release.
published = PublishedDocument(document, max_age=86_400, refresh_after=3_600, asks_database=False)
