"""The admin of relying parties, scopes, webhooks and interactions; importing it registers them."""

from presentation.admin import interactions
from presentation.relying_parties.admin import relying_parties
from presentation.scopes import admin as scopes
from presentation.webhooks import admin as webhooks

__all__ = ["interactions", "relying_parties", "scopes", "webhooks"]
