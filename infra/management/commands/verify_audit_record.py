"""`manage.py verify_audit_record`: looks for tampering with the audit record; status 1 if there is any."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from infra.audit import gaps, heads, verification
from infra.audit.gaps import Gap
from infra.files import FileError
from infra.models import AuditLine
from infra.moments import moment


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
            key = _public_key(folder, public_key)
            signed = heads.read(Path(folder), key) if key else []
            accepted = gaps.read(Path(folder), key) if key else None
        except FileError as error:
            raise CommandError(str(error)) from None
        for gap in accepted or ():
            self._describe(gap)
        faults = list(verification.faults(signed, accepted))
        for fault in faults:
            self.stdout.write(f"line {fault.seq}: {fault.problem}")
        if faults:
            raise CommandError(f"The audit record is not as it was written: faults {len(faults)}.")
        self.stdout.write(f"The audit record has no fault. Lines: {AuditLine.objects.count()}.")
        if signed:
            self.stdout.write(f"The newest signed head is of {signed[-1].day}, line {signed[-1].head.seq}.")
        else:
            self.stdout.write("There is no signed head: that its end was cut off would not be noticed.")

    def _describe(self, gap: Gap) -> None:
        operators = " and ".join(map(str, gap.operators))
        accepted = (
            f"Gap {gap.number}, up to line {gap.head.seq}, accepted on {moment(gap.at)} by the operators"
        )
        self.stdout.write(f"{accepted} {operators}: {gap.reason}")
        for fault in gap.faults:
            self.stdout.write(f"  line {fault.seq}: {fault.problem}")


def _public_key(folder: str, public_key: str) -> Ed25519PublicKey | None:
    """The key of the signed files, if there is a folder of them; raises FileError."""
    if not folder:
        return None
    if public_key:
        return heads.public_key(public_key)
    if not settings.AUDIT_KEY_FILE:
        raise FileError("Set AUDIT_KEY_FILE or --public-key to verify the signed heads.")
    return heads.private_key(settings.AUDIT_KEY_FILE).public_key()
