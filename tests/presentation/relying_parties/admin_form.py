"""The form of a relying party in the admin."""

from html import unescape
from typing import Any

from presentation.dcql.queries import BASIC

LIST = "/admin/presentation/relyingparty/"


def page(response: Any) -> str:
    """The text of a page that was answered well."""
    assert response.status_code == 200, response.status_code
    return unescape(response.content.decode())


def form(*uris: str, **changes: Any) -> dict[str, Any]:
    """What the form to register a relying party sends, with `changes`."""
    fields = {
        "name": "Bookshop",
        "purpose": "to send you a book",
        "privacy_policy_url": "",
        "terms_url": "",
        "contact": "",
        "allowed_scopes": [BASIC],
        "allowed_transaction_data_types": [],
        "wire_format": "string",
        "notes": "",
        "redirect_uris-TOTAL_FORMS": len(uris),
        "redirect_uris-INITIAL_FORMS": 0,
        "redirect_uris-MIN_NUM_FORMS": 1,
        "redirect_uris-MAX_NUM_FORMS": 1000,
        "response_uris-TOTAL_FORMS": 0,
        "response_uris-INITIAL_FORMS": 0,
        "certified_client_ids-TOTAL_FORMS": 0,
        "certified_client_ids-INITIAL_FORMS": 0,
    }
    rows = {f"redirect_uris-{number}-uri": uri for number, uri in enumerate(uris)}
    return fields | rows | changes
