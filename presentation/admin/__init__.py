"""The admin of relying parties, scopes, webhooks and interactions; importing it registers them."""

from presentation.admin import interactions, scopes, webhooks
from presentation.admin.relying_parties import relying_party

__all__ = ["interactions", "relying_party", "scopes", "webhooks"]
