"""Building blocks of the admin; and that of the outbox, which Django finds by this package."""

from infra.admin import emails

__all__ = ["emails"]
