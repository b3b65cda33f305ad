"""Building blocks of the admin, and the page of the audit record, which importing this registers."""

from infra.admin import audit_record

__all__ = ["audit_record"]
