"""`manage.py stage_signing_key`: makes the key that signs next."""

from typing import Any

from django.core.management.base import CommandParser
from django.utils.timezone import now

from infra.moments import moment
from keys.management.key_command import FOR, RecordedKeyCommand, kind_of
from keys.models import SigningKey
from keys.rotation.key_events import shell_user
from keys.rotation.states import ready_at
from keys.rotation.transitions import certificate_request, stage


class Command(RecordedKeyCommand):
    help = (
        "Make a new key and stage it. It is published once it is certified, and signs once it is activated. "
        "If an external authority issues the certificates, print the certificate request."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--store",
            choices=SigningKey.Store.values,
            default="",
            help="where its private key lives; SIGNING_KEY_STORE when left out",
        )
        parser.add_argument("--for", **FOR, help="what it signs; credentials when left out")

    def handle(self, *args: Any, reason: str, store: str, signs: str, **options: Any) -> None:
        key = stage(now=now(), actor=shell_user(), reason=reason, store=store, kind=kind_of(signs))
        self.stdout.write(f"Staged key {key}.")
        if key.chain_pem:
            self.stdout.write(f"It may be activated from {moment(ready_at(key))}.")
            return
        self.stdout.write(f"Have this request signed, then: certify_signing_key {key} --chain FILE")
        self.stdout.write(certificate_request(key.pk))
