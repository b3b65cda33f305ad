"""What relying applications are sent by webhook, as developers read about it (OpenAPI 3.1 `webhooks`)."""

from typing import Any

from django.utils.translation import gettext_lazy as _

from presentation.sandbox.api.description import JSON, Schema, members, text
from presentation.sandbox.wording import Text
from presentation.webhooks.models import WebhookEvent

Type = WebhookEvent.Type

_KNOWN_BY: dict[str, Schema] = {
    "client_id": text(_("Yours.")),
    "nonce_sha256": text(_("SHA-256 of the nonce of your request."), pattern="^[0-9a-f]{64}$"),
}
_STATUS = members(
    "status_list",
    status_list=members("idx uri", idx={"type": "integer", "minimum": 0}, uri=text(format="uri")),
)
_HEADERS: dict[str, Text] = {
    "webhook-id": _("The same for every try, so that you can tell what you have had already."),
    "webhook-timestamp": _("When it was sent, in seconds since 1970."),
    "webhook-signature": _(
        "One signature, or several with spaces between, each after v1 and a comma (Standard Webhooks)."
    ),
}


def _described(kind: Type, name: str, summary: Text, **more: Schema) -> dict[str, Any]:
    data = members(" ".join([*_KNOWN_BY, *more]), **_KNOWN_BY, **more)
    body = members(
        "type timestamp data",
        type=text(enum=[kind.value]),
        timestamp=text(_("When it happened."), format="date-time"),
        data={**data, "additionalProperties": False},
    )
    return {
        "post": {
            "operationId": name,
            "summary": summary,
            "description": _(
                "Sent to the address that is registered for it, signed as Standard Webhooks says."
            ),
            "tags": [_("Webhooks")],
            "parameters": [
                {"name": header, "in": "header", "required": True, "description": about, "schema": text()}
                for header, about in _HEADERS.items()
            ],
            "requestBody": {"required": True, "content": {JSON: {"schema": body}}},
            "responses": {"2XX": {"description": _("Taken. After anything else it is sent again, later.")}},
        }
    }


WEBHOOKS: dict[str, dict[str, Any]] = {
    Type.COMPLETED.value: _described(
        Type.COMPLETED,
        "presentation_completed",
        _("A token was given, to the person’s browser or to be posted"),
    ),
    Type.DENIED.value: _described(
        Type.DENIED,
        "presentation_denied",
        _("An error was given in the place of a token"),
        error=text(_("The code, as in your callback.")),
    ),
    Type.REVOKED.value: _described(
        Type.REVOKED, "credential_revoked", _("A token you were given became invalid"), status=_STATUS
    ),
}
