"""`manage.py reset_second_factor`: for a superuser who has lost their app and has no colleague."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone

from infra import second_factors
from infra.audit.recording import record
from infra.reasons import visible


class Command(BaseCommand):
    help = "Remove the second factor of an operator and end their sessions; the audit record says so."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--reason", required=True, help="for the audit record; no names")

    def handle(self, *args: Any, username: str, reason: str, **options: Any) -> None:
        operator = get_user_model().objects.filter(username=username).first()
        if operator is None:
            raise CommandError("There is no operator with this user name.")
        if not visible(reason):
            raise CommandError("Say why the second factor is reset.")
        with transaction.atomic():
            code = second_factors.reset(operator, now=timezone.now())
            record(None, "second_factor_reset", operator, reason)
        self.stdout.write(
            f"The second factor is reset. At the next sign-in it is set up anew, with this code: {code}\n"
            "It is shown once and works for a day. Give it to the operator in person, or by a telephone call "
            "that you make."
        )
