"""`manage.py verify_audit_record`: looks for tampering with the audit record; status 1 if there is any."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from infra.audit import heads, verification
from infra.audit.heads import SignedHead
from infra.files import FileError
from infra.models import AuditLine


class Command(BaseCommand):
    help = (
        "Verify the hash chain of the audit record, and compare it with the signed heads in AUDIT_FOLDER: "
        "finds lines that were changed, removed or inserted, and an end that was cut off or written anew."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--folder", default=settings.AUDIT_FOLDER, help="of the signed heads (AUDIT_FOLDER)"
        )
        parser.add_argument(
            "--public-key", default="", help="PEM file, if AUDIT_KEY_FILE is not on this machine"
        )

    def handle(self, *args: Any, folder: str, public_key: str, **options: Any) -> None:
        try:
            signed = _signed(folder, public_key)
        except FileError as error:
            raise CommandError(str(error)) from None
        found = list(verification.faults(each.head for each in signed))
        for fault in found:
            self.stdout.write(f"line {fault.seq}: {fault.problem}")
        if found:
            raise CommandError(f"The audit record is not as it was written: faults {len(found)}.")
        self.stdout.write(f"The audit record has no fault. Lines: {AuditLine.objects.count()}.")
        if signed:
            self.stdout.write(f"The newest signed head is of {signed[-1].day}, line {signed[-1].head.seq}.")
        else:
            self.stdout.write("There is no signed head: that its end was cut off would not be noticed.")


def _signed(folder: str, public_key: str) -> list[SignedHead]:
    if not folder:
        return []
    if public_key:
        return heads.read(Path(folder), heads.public_key(public_key))
    if not settings.AUDIT_KEY_FILE:
        raise FileError("Set AUDIT_KEY_FILE or --public-key to verify the signed heads.")
    return heads.read(Path(folder), heads.private_key(settings.AUDIT_KEY_FILE).public_key())
