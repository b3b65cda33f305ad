"""`manage.py sendtestemail`: the name of Django's command, for the mail server of EMAIL_URL."""

import socket
from argparse import ArgumentParser
from typing import Any

from django.core.mail import EmailMessage
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from infra.mail import failures, sending


class Command(BaseCommand):
    help = "Send a test e-mail at once, without the worker."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("email", nargs="+", help="who gets it")

    def handle(self, *args: Any, email: list[str], **options: Any) -> None:
        message = EmailMessage(
            subject=f"Test e-mail from {socket.gethostname()} on {timezone.now()}",
            body="If you read this, the service can send e-mails.",
            to=email,
        )
        try:
            with sending.new_backend() as backend:
                sending.send_at_once(message, backend)
        except OSError as error:
            raise CommandError(f"Not sent: {failures.read(error).reason} ({error!r}).") from error
