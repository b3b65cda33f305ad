"""`manage.py sign_audit_record`: signs and exports the audit record; run it every hour."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from infra.audit import heads, verification
from infra.audit.heads import AuditFileError
from infra.audit.verification import BrokenRecordError


class Command(BaseCommand):
    help = "Sign each day's last line of the audit record with AUDIT_KEY_FILE, into files in AUDIT_FOLDER."

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.AUDIT_FOLDER:
            self.stdout.write("AUDIT_FOLDER is not set: nothing is signed.")
            return
        try:
            key = heads.private_key(settings.AUDIT_KEY_FILE)
            signed = verification.sign_days(Path(settings.AUDIT_FOLDER), key, now=timezone.now())
        except (AuditFileError, BrokenRecordError) as error:
            raise CommandError(f"The audit record is not signed: {error}") from None
        for each in signed:
            self.stdout.write(f"Signed {each.day}: line {each.head.seq}.")
