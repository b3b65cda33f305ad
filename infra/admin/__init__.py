"""Building blocks of the admin, and its pages of the audit record and the outbox, registered by import."""

from infra.admin import audit_record, emails

__all__ = ["audit_record", "emails"]
