"""`manage.py sign_audit_record`: verifies, signs and exports the audit record; run it every hour."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from infra import runs
from infra.audit import heads, verification
from infra.audit.verification import BrokenRecordError
from infra.files import FileError


class Command(BaseCommand):
    help = "Verify the audit record; sign each day's last line with AUDIT_KEY_FILE, into AUDIT_FOLDER."

    @runs.recording("sign_audit_record")
    def handle(self, *args: Any, **options: Any) -> None:
        now, signed = timezone.now(), []
        try:
            if settings.AUDIT_FOLDER:
                key = heads.private_key(settings.AUDIT_KEY_FILE)
                signed = verification.sign_days(Path(settings.AUDIT_FOLDER), key, now=now)
            else:
                verification.verify(now=now)
                self.stdout.write("AUDIT_FOLDER is not set: nothing is signed.")
        except (FileError, BrokenRecordError) as error:
            raise CommandError(f"The audit record is not signed: {error}") from None
        for signed_head in signed:
            self.stdout.write(f"Signed {signed_head.day}: line {signed_head.head.seq}.")
