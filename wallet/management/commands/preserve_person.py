"""`manage.py preserve_person`: writes all that is kept about one holder into a file, for a court."""

import os
from argparse import ArgumentParser
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError, no_translations
from django.utils import timezone

from infra.audit.commands import RecordedCommand
from infra.personal_data import Person
from infra.reasons import visible
from wallet.account.download import formats
from wallet.models import Wallet


class Command(RecordedCommand):
    help = (
        "Write all that is kept about one holder into a new file that only you can read, as JSON, because a "
        "court has ordered that it is preserved. The service itself goes on erasing what it has promised to "
        "erase, so run this at once, and again whenever the order says so."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--wallet", type=UUID, required=True, help="the wallet's ID, from the admin")
        parser.add_argument("--file", type=Path, required=True, help="a file that does not exist yet")
        parser.add_argument("--reason", required=True, help="the number of the order; no names")

    @no_translations
    def handle(self, *args: Any, wallet: UUID, file: Path, reason: str, **options: Any) -> None:
        if not visible(reason):
            raise CommandError("Give the number of the order, for the record.")
        row = Wallet.objects.filter(pk=wallet).first()
        if row is None:
            raise CommandError("There is no such wallet. What was closed is erased.")
        now = timezone.now()
        digest = sha256()
        try:
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise CommandError(f"{file} cannot be made: {error.strerror}.") from None
        with os.fdopen(descriptor, "wb") as opened:
            for part in formats.as_json(Person(row.pk, row.email, now), now=now):
                opened.write(part.encode())
                digest.update(part.encode())
            opened.flush()
            os.fsync(opened.fileno())
        self.stdout.write(f"Written: {file}. SHA-256: {digest.hexdigest()}")
