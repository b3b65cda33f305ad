"""`manage.py send_share_emails`: sends “You shared …” e-mails to the holders who switched them on."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from infra import runs
from presentation import sharing_notices


class Command(BaseCommand):
    help = (
        "Sends an e-mail about each answer to the holders who switched these e-mails on. Run it every "
        "minute, on any number of instances."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--batch", type=int, default=500, help="most e-mails of one run (500)")

    def handle(self, *args: Any, batch: int, **options: Any) -> None:
        now = timezone.now()
        sent = sharing_notices.send_due(now=now, batch=max(batch, 1))
        runs.record("send_share_emails", now=now)
        self.stdout.write(f"Sent {sent} e-mails.")
